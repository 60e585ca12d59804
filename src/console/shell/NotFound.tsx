import { ButtonLink } from "../widgets/Button.tsx";
import { Page } from "../widgets/Page.tsx";
import style from "./Bare.module.css";

/** An address without a page. */
export function NotFound() {
  return (
    <main className={style["bare"]} id="main">
      <Page title="Not found" about="There is no page at this address.">
        <div>
          <ButtonLink to="/console">Go to the overview</ButtonLink>
        </div>
      </Page>
    </main>
  );
}
