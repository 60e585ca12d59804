import type { ErrorComponentProps } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { isMissingPart, mayReload } from "../session/reload-once.ts";
import { Button } from "../widgets/Button.tsx";
import { Notice } from "../widgets/Notice.tsx";
import { Page } from "../widgets/Page.tsx";
import { Skeleton } from "../widgets/States.tsx";
import style from "./Bare.module.css";

const MISSING = "Part of the console could not be fetched. The service was upgraded meanwhile, or is not reached.";

/** A page that cannot be shown: its files did not load, or it threw. Files of an older version are loaded anew once. */
export function LoadFailed({ error }: ErrorComponentProps) {
  const missing = isMissingPart(error);
  const [reloads, setReloads] = useState(missing);
  useEffect(() => {
    if (!missing) return;
    if (mayReload()) location.reload();
    else setReloads(false);
  }, [missing]);
  if (reloads) return <Skeleton />;
  const message = error instanceof Error ? error.message : "Something went wrong.";
  return (
    <Page title="This page did not load">
      <Notice kind="bad">{missing ? MISSING : message}</Notice>
      <div>
        <Button look="primary" onClick={() => location.reload()}>
          Try again
        </Button>
      </div>
    </Page>
  );
}

/** The same where there is no frame around it. */
export function StartFailed(props: ErrorComponentProps) {
  return (
    <main className={style["bare"]} id="main">
      <LoadFailed {...props} />
    </main>
  );
}
