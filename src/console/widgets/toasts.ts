import type { Failure } from "../session/failures.ts";
import { createStore } from "../session/store.ts";
import { violationsOf } from "./form/scope.tsx";

/** A short message that disappears. */
export interface Toast {
  id: number;
  text: string;
  kind: "status" | "alert";
  undo?: (() => void) | undefined;
  /** Of the request that failed. */
  requestId?: string | undefined;
}

export const toasts = createStore<readonly Toast[]>([]);
let last = 0;

/** How long a toast stays; the pointer and the focus hold it. */
export const TOAST_MS = 6_000;

export function dismiss(id: number): void {
  toasts.set(toasts.get().filter((toast) => toast.id !== id));
}

/** Says that something is done. With `undo` it can be taken back. */
export function toast(text: string, undo?: () => void): void {
  toasts.set([...toasts.get().slice(-3), { id: ++last, text, kind: "status", undo }]);
}

/** Says that something failed, with the id of the request for whoever looks into it. */
export function alertToast(failure: Pick<Failure, "message" | "requestId"> & Partial<Failure>): void {
  const { message, requestId } = failure;
  const text = [message, ...violationsOf(failure)].join(" ");
  toasts.set([...toasts.get().slice(-3), { id: ++last, text, kind: "alert", requestId }]);
}
