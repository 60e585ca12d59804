import { useQuery } from "@tanstack/react-query";
import { serviceUrl, settings } from "../../settings.ts";
import { Status } from "../../widgets/Badge.tsx";
import { CodeSample } from "../../widgets/CodeSample.tsx";
import { Notice } from "../../widgets/Notice.tsx";
import { Facts, Page, Section } from "../../widgets/Page.tsx";
import { Answer } from "../../widgets/States.tsx";
import { inWords } from "../../widgets/words.ts";

/** How often the state is read again. */
const READ_MS = 5_000;

/** What `/readyz` says; it is JSON with status 503 too. */
async function readiness(): Promise<Record<string, string>> {
  const response = await fetch(`${serviceUrl}/readyz`, { headers: { accept: "application/json" } });
  return (await response.json()) as Record<string, string>;
}

/** Whether this instance can serve, and what it runs. */
export default function ServiceStatus() {
  const state = useQuery({ queryKey: ["readyz"], queryFn: readiness, refetchInterval: READ_MS });
  return (
    <Page title="Status" about="The instance that answers this browser, read again every five seconds.">
      <Section title="Readiness">
        <Answer of={state}>
          {({ status = "unknown", ...parts }) => (
            <>
              {status !== "ok" && <Notice kind="bad">This instance is not ready to serve requests.</Notice>}
              <Facts>
                {[["status", status] as const, ...Object.entries(parts)].map(
                  ([name, value]) => [inWords(name), <Status key={name} of={value} />] as const,
                )}
              </Facts>
            </>
          )}
        </Answer>
      </Section>
      <Section title="Version">
        <Facts>{[["Version", settings.version]]}</Facts>
      </Section>
      <CodeSample http="GET /readyz" isPublic />
    </Page>
  );
}
