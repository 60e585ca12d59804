import { start } from "../session/session.ts";
import { Page } from "../widgets/Page.tsx";
import { Failed, Skeleton } from "../widgets/States.tsx";
import style from "./Bare.module.css";

/** In place of the console until the service has said who is signed in, or why it cannot. */
export function Starting({ error }: { error: unknown }) {
  return (
    <main className={style["bare"]} id="main">
      {error === undefined ? (
        <Skeleton />
      ) : (
        <Page
          title="The console cannot start yet"
          about="The service did not say whether you are signed in. You need not sign in again if you are."
        >
          <Failed error={error} retry={() => void start().catch(() => undefined)} />
        </Page>
      )}
    </main>
  );
}

/** In place of the console while the service is asked to end the session, which takes a while over a slow link. */
export function Leaving() {
  return (
    <main className={style["bare"]} id="main">
      <p className={style["late"]} role="status">
        Signing out
      </p>
    </main>
  );
}
