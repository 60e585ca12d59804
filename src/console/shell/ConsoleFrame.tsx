import { Tooltip } from "@base-ui/react/tooltip";
import { Outlet, useLocation } from "@tanstack/react-router";
import { useSession } from "../session/use-session.ts";
import { Redirect } from "./Redirect.tsx";
import { Shell } from "./Shell.tsx";
import { Leaving, Starting } from "./Starting.tsx";

/** Pages of the console for somebody who is signed in; the sign-in page for anybody else. */
export default function ConsoleFrame() {
  const session = useSession();
  const { pathname, searchStr } = useLocation();
  if (session.status === "leaving") return <Leaving />;
  if (session.status === "starting") return <Starting error={session.error} />;
  if (session.status === "out") {
    // Who signed out starts at the overview; who was never in goes on where the link led.
    const next = session.reason === "signed-out" ? undefined : `${pathname}${searchStr}`;
    return <Redirect to="/sign-in" next={next} />;
  }
  return (
    <Tooltip.Provider>
      <Shell>
        <Outlet />
      </Shell>
    </Tooltip.Provider>
  );
}
