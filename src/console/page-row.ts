import type { LucideIcon } from "lucide-react";
import type { ComponentType } from "react";
import type { Power } from "./powers.ts";

/** Headings of the navigation, in their order. */
export const GROUPS = [
  "",
  "You",
  "Organization",
  "Marketplace",
  "Security",
  "Credentials",
  "Developers",
  "Platform",
  "Operation",
] as const;

/** A page of the console. */
export interface PageRow {
  /** Below `/console`; `$name` is a parameter. */
  path: string;
  load: () => Promise<{ default: ComponentType }>;
  /** Who can use it. Others get "You cannot see this page". */
  needs: Power;
  /** Its place in the navigation; without one it is reached from another page. */
  nav?: { group: (typeof GROUPS)[number]; label: string; icon: LucideIcon };
  /** Second key of the shortcut `g` …. */
  go?: string;
}
