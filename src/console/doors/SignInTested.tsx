import { useEffect } from "react";
import { signInTests } from "../session/sign-in-test.ts";
import { Door } from "./Door.tsx";

/** Where a test of a connection ends: the session token is dropped unused. */
export function SignInTested({ state }: { state: string }) {
  useEffect(() => {
    history.replaceState(history.state, "", location.pathname);
    signInTests.passed(state);
  }, [state]);
  return (
    <Door title="The sign-in works" about="The provider confirmed who you are. Nobody was signed in by this test.">
      <p>You can close this tab.</p>
    </Door>
  );
}
