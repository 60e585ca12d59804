import style from "./Small.module.css";
import { classes, inWords } from "./words.ts";

const KINDS: Readonly<Record<string, "good" | "warn" | "bad" | "busy">> = {
  active: "good",
  enabled: "good",
  accepted: "good",
  delivered: "good",
  paid: "good",
  ok: "good",
  passed: "good",
  valid: "good",
  success: "good",
  published: "good",
  approved: "good",
  granted: "good",
  pending: "warn",
  disabled: "warn",
  suspended: "warn",
  expiring: "warn",
  provisioning: "busy",
  deprovisioning: "busy",
  delivering: "busy",
  failed: "bad",
  wrong: "bad",
  failure: "bad",
  rejected: "bad",
  revoked: "bad",
  denied: "bad",
  expired: "bad",
};

/** Marks one of several things, such as the session in use. */
export function Tag({ children }: { children: string }) {
  return <span className={classes(style["badge"], style["tag"])}>{children}</span>;
}

/** A status in words; its colour repeats what the words say. */
export function Status({ of }: { of: string }) {
  const kind = KINDS[of];
  return <span className={classes(style["badge"], kind && style[kind])}>{inWords(of)}</span>;
}
