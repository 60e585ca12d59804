import { useNavigate, useRouter } from "@tanstack/react-router";
import type { RouterHistory } from "@tanstack/react-router";
import { useState } from "react";
import { failureOf } from "../session/failures.ts";
import { externalPage } from "../settings.ts";
import type { ExternalPage } from "../settings.ts";
import { alertToast } from "../widgets/toasts.ts";
import { passDoor } from "./sign-in-state.ts";
import type { DoorAnswer } from "./sign-in-state.ts";

/** What a door does with the answer to a sign-in. */
interface Entry {
  /** Goes on: to the second factor, or in. `next` leads outside this service only where a mailed link names it. */
  enter(answer: DoorAnswer | undefined, next?: string): Promise<void>;
  entering: boolean;
  /** Once the person is in, the page outside this service that the sign-in is for. */
  external: ExternalPage | undefined;
}

/** Goes on after a door. */
export function useEnter(): Entry {
  const navigate = useNavigate();
  const { basepath, history } = useRouter() as unknown as { basepath: string; history: RouterHistory };
  const [entering, setEntering] = useState(false);
  const [external, setExternalPage] = useState<ExternalPage>();
  return {
    entering,
    external,
    async enter(answer, next) {
      if (answer === undefined) return;
      setEntering(true);
      try {
        const path = await passDoor(answer, next);
        const outside = externalPage(next);
        if (path === "/sign-in/second-factor") await navigate({ to: path });
        else if (outside !== undefined) setExternalPage(outside);
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
