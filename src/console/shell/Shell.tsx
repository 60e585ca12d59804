import { Menu as MenuIcon } from "lucide-react";
import { useState, useSyncExternalStore } from "react";
import type { ReactNode } from "react";
import { reach } from "../session/reach.ts";
import type { Reach } from "../session/reach.ts";
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
import { useKeptFocus } from "./use-kept-focus.ts";

const UNREACHED: Readonly<Record<Exclude<Reach, "reached">, string>> = {
  offline: "You are offline. What you see may be out of date; nothing you typed is lost.",
  away: "The service does not answer. Trying again; what you see may be out of date, and nothing you typed is lost.",
};

/** Banner, navigation and content around every page of the console, with the dialogs that interrupt a call. */
export function Shell({ children }: { children: ReactNode }) {
  const [menuOpen, setMenuOpen] = useState(false);
  const [paletteOpen, setPaletteOpen] = useState(false);
  useKeptFocus();
  const reached = useSyncExternalStore(reach.subscribe, reach.get);
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
      {reached !== "reached" && (
        <div className={style["offline"]} role="status">
          {UNREACHED[reached]}
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
