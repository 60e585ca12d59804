import type { ReactNode } from "react";
import { holds, powerWords } from "../powers.ts";
import type { Power } from "../powers.ts";
import { useMe } from "../session/use-session.ts";
import { ButtonLink } from "../widgets/Button.tsx";
import { Page } from "../widgets/Page.tsx";

/** Shows a page to those whose calls it makes would succeed; says to others what it takes. */
export function Allowed({ needs, children }: { needs: Power; children: ReactNode }) {
  const me = useMe();
  if (holds(me, needs)) return children;
  return (
    <Page title="You cannot see this page" about={powerWords(needs, me)}>
      <div>
        <ButtonLink to="/console">Go to the overview</ButtonLink>
      </div>
    </Page>
  );
}
