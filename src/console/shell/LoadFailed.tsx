import type { ErrorComponentProps } from "@tanstack/react-router";
import { Button } from "../widgets/Button.tsx";
import { Notice } from "../widgets/Notice.tsx";
import { Page } from "../widgets/Page.tsx";

/** A page that cannot be shown: its files did not load, or it threw. */
export function LoadFailed({ error }: ErrorComponentProps) {
  return (
    <Page title="This page did not load">
      <Notice kind="bad">{error instanceof Error ? error.message : "Something went wrong."}</Notice>
      <div>
        <Button look="primary" onClick={() => location.reload()}>
          Try again
        </Button>
      </div>
    </Page>
  );
}
