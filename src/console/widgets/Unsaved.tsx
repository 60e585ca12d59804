import { useBlocker } from "@tanstack/react-router";
import type { ShouldBlockFn } from "@tanstack/react-router";
import { useSyncExternalStore } from "react";
import { Discard } from "./Dialog.tsx";
import { unsavedStore } from "./guard.ts";

/** Tabs and filters, which are in the search of the address, leave the page as it is. */
const leaves: ShouldBlockFn = ({ current, next }) => unsavedStore.get() && current.pathname !== next.pathname;

/** Asks before a link, a key or Back leaves a page with input that would be lost. */
export default function Unsaved() {
  const unsaved = useSyncExternalStore(unsavedStore.subscribe, unsavedStore.get);
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: leaves,
    // The guard asks by itself.
    enableBeforeUnload: false,
    disabled: !unsaved,
    withResolver: true,
  });
  return <Discard open={status === "blocked"} onCancel={() => reset?.()} onConfirm={() => proceed?.()} />;
}
