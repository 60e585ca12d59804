import { useBlocker } from "@tanstack/react-router";
import type { ShouldBlockFn } from "@tanstack/react-router";
import { useSyncExternalStore } from "react";
import { Confirm, Discard } from "./Dialog.tsx";
import { unsavedStore } from "./guard.ts";

/** Tabs and filters, which are in the search of the address, leave the page as it is. */
const leaves: ShouldBlockFn = ({ current, next }) =>
  unsavedStore.get() !== undefined && current.pathname !== next.pathname;

/** Asks before a link, a key or Back leaves a page with input, or a secret shown once, that would be lost. */
export default function Unsaved() {
  const unsaved = useSyncExternalStore(unsavedStore.subscribe, unsavedStore.get);
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: leaves,
    // The guard asks by itself.
    enableBeforeUnload: false,
    disabled: unsaved === undefined,
    withResolver: true,
  });
  const blocked = status === "blocked";
  return (
    <>
      <Discard open={blocked && unsaved !== "secret"} onCancel={() => reset?.()} onConfirm={() => proceed?.()} />
      <Confirm
        title="Leave without saving it?"
        about="It is shown once, and nobody can read it again."
        verb="Leave"
        open={blocked && unsaved === "secret"}
        onCancel={() => reset?.()}
        onConfirm={() => proceed?.()}
      />
    </>
  );
}
