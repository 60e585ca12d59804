import { Dialog } from "@base-ui/react/dialog";
import { useNavigate } from "@tanstack/react-router";
import { Search } from "lucide-react";
import { useEffect, useId, useRef, useState } from "react";
import type { RefObject } from "react";
import { useMe } from "../session/use-session.ts";
import style from "./Palette.module.css";
import shell from "./Shell.module.css";
import { useEntries } from "./use-entries.ts";
import type { Entry } from "./use-entries.ts";

/** Opens the palette; in the banner. */
export function SearchButton({ onOpen }: { onOpen: () => void }) {
  return (
    <button
      type="button"
      className={shell["search"]}
      onClick={onOpen}
      aria-label="Search"
      aria-keyshortcuts="Control+K"
    >
      <Search size={15} aria-hidden />
      <span>Search</span>
      {/* Not text: the name of the button would have to contain it. */}
      <kbd aria-hidden data-keys="Ctrl K" />
    </button>
  );
}

/** Finds pages, actions, members, apps and anything with an id. */
export function Palette({ open, onOpenChange }: { open: boolean; onOpenChange: (open: boolean) => void }) {
  // An `autoFocus` would take the focus before the dialog has noted where to return it.
  const input = useRef<HTMLInputElement>(null);
  return (
    <Dialog.Root open={open} onOpenChange={onOpenChange}>
      <Dialog.Portal>
        <Dialog.Backdrop className={style["backdrop"]} />
        <Dialog.Popup className={style["popup"]} aria-label="Search" initialFocus={input}>
          <Content input={input} onDone={() => onOpenChange(false)} />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

interface ContentProps {
  input: RefObject<HTMLInputElement | null>;
  onDone: () => void;
}

function Content({ input, onDone }: ContentProps) {
  const me = useMe();
  const navigate = useNavigate();
  const id = useId();
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const { entries, isLooking } = useEntries(me, text);
  useEffect(() => setAt(0), [text]);
  useEffect(() => {
    // Newer browsers return a promise, which React would take for the effect's cleanup if it were returned.
    document.getElementById(`${id}-${at}`)?.scrollIntoView({ block: "nearest" });
  }, [id, at]);

  const go = (entry: Entry | undefined): void => {
    if (entry === undefined) return;
    onDone();
    if (entry.run !== undefined) entry.run();
    else void navigate({ to: entry.to ?? "/console", search: entry.search ?? {} });
  };

  return (
    <>
      <input
        className={style["input"]}
        role="combobox"
        aria-label="Search pages, members, apps and ids"
        aria-expanded
        aria-controls={`${id}-list`}
        aria-activedescendant={entries.length > 0 ? `${id}-${at}` : undefined}
        aria-autocomplete="list"
        placeholder="Go to a page, or paste an id"
        value={text}
        ref={input}
        spellCheck={false}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown" || event.key === "ArrowUp") {
            event.preventDefault();
            const step = event.key === "ArrowDown" ? 1 : entries.length - 1;
            setAt((at + step) % Math.max(1, entries.length));
          } else if (event.key === "Enter") {
            event.preventDefault();
            go(entries[at]);
          }
        }}
      />
      <div className={style["list"]} role="listbox" id={`${id}-list`} aria-label="Results">
        {entries.map((entry, index) => {
          const { icon: Icon } = entry;
          return (
            <div
              key={entry.key}
              id={`${id}-${index}`}
              role="option"
              aria-selected={index === at}
              className={style["option"]}
              onPointerMove={() => setAt(index)}
              onClick={() => go(entry)}
            >
              <Icon size={16} aria-hidden />
              <span>{entry.label}</span>
              <small>{entry.kind}</small>
            </div>
          );
        })}
      </div>
      {entries.length === 0 && <div className={style["none"]}>{isLooking ? "Looking …" : "Nothing matches."}</div>}
    </>
  );
}
