import { ButtonLink } from "../widgets/Button.tsx";
import { Page } from "../widgets/Page.tsx";
import style from "./Bare.module.css";

/** An address of the console without a page; inside its frame. */
export function PageNotFound() {
  return (
    <Page title="Not found" about="There is no page at this address.">
      <div>
        <ButtonLink to="/console">Go to the overview</ButtonLink>
      </div>
    </Page>
  );
}

/** An address without a page, where there is no frame. */
export function NotFound() {
  return (
    <main className={style["bare"]} id="main">
      <PageNotFound />
    </main>
  );
}
