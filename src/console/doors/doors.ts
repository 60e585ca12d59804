import type { ComponentType } from "react";

/** A page for those who are not signed in. Each path is also one that the service serves (`DOORS`). */
export interface DoorRow {
  path: string;
  load: () => Promise<{ default: ComponentType }>;
}

export const DOOR_PAGES: readonly DoorRow[] = [
  { path: "/", load: () => import("./Start.tsx") },
  { path: "/sign-in", load: () => import("./SignIn.tsx") },
  { path: "/sign-in/code", load: () => import("./Code.tsx") },
  { path: "/sign-in/second-factor", load: () => import("./SecondFactor.tsx") },
  { path: "/magic-link", load: () => import("./MagicLink.tsx") },
  { path: "/invite", load: () => import("./Invite.tsx") },
  { path: "/forgot-password", load: () => import("./ForgotPassword.tsx") },
  { path: "/reset-password", load: () => import("./ResetPassword.tsx") },
  { path: "/confirm-email", load: () => import("./ConfirmEmail.tsx") },
  { path: "/disown", load: () => import("./Disown.tsx") },
  { path: "/disown-email", load: () => import("./Disown.tsx") },
  { path: "/step-up", load: () => import("./StepUpLink.tsx") },
  { path: "/sign-up", load: () => import("./SignUp.tsx") },
];
