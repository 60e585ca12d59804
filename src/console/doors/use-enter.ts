import { useNavigate, useRouter } from "@tanstack/react-router";
import type { RouterHistory } from "@tanstack/react-router";
import { useState } from "react";
import { failureOf } from "../session/failures.ts";
import { alertToast } from "../widgets/toasts.ts";
import { passDoor } from "./sign-in-state.ts";
import type { DoorAnswer } from "./sign-in-state.ts";

/** Goes on after a door: to the second factor, or in. */
export function useEnter(): { enter(answer: DoorAnswer | undefined, next?: string): Promise<void>; entering: boolean } {
  const navigate = useNavigate();
  const { basepath, history } = useRouter() as unknown as { basepath: string; history: RouterHistory };
  const [entering, setEntering] = useState(false);
  return {
    entering,
    async enter(answer, next) {
      if (answer === undefined) return;
      setEntering(true);
      try {
        const path = await passDoor(answer, next);
        if (path === "/sign-in/second-factor") await navigate({ to: path });
        else history.replace(withPrefix(basepath, path));
      } catch (error) {
        alertToast(failureOf(error));
      } finally {
        setEntering(false);
      }
    },
  };
}

const withPrefix = (basepath: string, path: string): string => (basepath === "/" ? path : `${basepath}${path}`);
