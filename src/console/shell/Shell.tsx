import { Menu as MenuIcon } from "lucide-react";
import { useEffect, useState } from "react";
import type { ReactNode } from "react";
import { Button } from "../widgets/Button.tsx";
import { Account } from "./Account.tsx";
import { Brand } from "./Brand.tsx";
import { Elevated } from "./Elevated.tsx";
import { IdleDialog } from "./IdleDialog.tsx";
import { Keys } from "./Keys.tsx";
import { Navigation } from "./Navigation.tsx";
import { Organizations } from "./Organizations.tsx";
import { Palette, SearchButton } from "./Palette.tsx";
import style from "./Shell.module.css";
import { SignInAgain } from "./SignInAgain.tsx";
import { StepUp } from "./StepUp.tsx";

/** Banner, navigation and content around every page of the console, with the dialogs that interrupt a call. */
export function Shell({ children }: { children: ReactNode }) {
  const [menuOpen, setMenuOpen] = useState(false);
  const [paletteOpen, setPaletteOpen] = useState(false);
  const online = useOnline();
  return (
    <div className={style["shell"]}>
      <a
        className={style["skip"]}
        href="#main"
        onClick={(event) => {
          // With a `base` element a bare fragment would leave the page.
          event.preventDefault();
          document.getElementById("main")?.focus();
        }}
      >
        Skip to content
      </a>
      <header className={style["banner"]}>
        <span className={style["opener"]}>
          <Button small aria-expanded={menuOpen} aria-controls="navigation" onClick={() => setMenuOpen(!menuOpen)}>
            <MenuIcon size={16} aria-hidden />
            Menu
          </Button>
        </span>
        <Brand />
        <Organizations />
        <span className={style["push"]} />
        <Elevated />
        <SearchButton onOpen={() => setPaletteOpen(true)} />
        <Account />
      </header>
      {!online && (
        <div className={style["offline"]} role="status">
          You are offline. What you see may be out of date; nothing you typed is lost.
        </div>
      )}
      <Navigation open={menuOpen} onGo={() => setMenuOpen(false)} />
      <main className={style["main"]} id="main" tabIndex={-1}>
        {children}
      </main>
      <Palette open={paletteOpen} onOpenChange={setPaletteOpen} />
      <Keys onSearch={() => setPaletteOpen(true)} />
      <StepUp />
      <SignInAgain />
      <IdleDialog />
    </div>
  );
}

function useOnline(): boolean {
  const [online, setOnline] = useState(navigator.onLine);
  useEffect(() => {
    const update = (): void => setOnline(navigator.onLine);
    addEventListener("online", update);
    addEventListener("offline", update);
    return () => {
      removeEventListener("online", update);
      removeEventListener("offline", update);
    };
  }, []);
  return online;
}
