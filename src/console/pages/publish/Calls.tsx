import { timestampDate } from "@bufbuild/protobuf/wkt";
import { useQuery } from "@connectrpc/connect-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { App } from "../../../../gen/atrium/marketplace/v1/marketplace_pb.ts";
import { PublisherService } from "../../../../gen/atrium/marketplace/v1/publisher_pb.ts";
import type { InstallCall } from "../../../../gen/atrium/marketplace/v1/statistics_pb.ts";
import { Select } from "../../widgets/form/Field.tsx";
import { Facts, Section } from "../../widgets/Page.tsx";
import { Answer, Empty } from "../../widgets/States.tsx";
import { ago } from "../../widgets/Time.tsx";
import { inWords } from "../../widgets/words.ts";
import style from "./Publish.module.css";

/**
 * What an install was sent for, and what the publisher's server answered. The address names the install; one that is
 * not among the newest comes from the list of installs.
 */
export function Calls({ app }: { app: App }) {
  const { appId } = app;
  const navigate = useNavigate();
  const search: Readonly<Record<string, string | undefined>> = useSearch({ strict: false });
  const installs = useQuery(PublisherService.method.listAppInstalls, { appId, sort: "-created_at", limit: 200 });
  const wanted = search["install"];
  const installId = wanted ?? installs.data?.data[0]?.installId;
  return (
    <Section
      title="Calls"
      about="Requests to your provision webhook, newest first; the newest 50 of an install are kept."
    >
      <Answer of={installs} lines={2}>
        {({ data }) =>
          installId === undefined ? (
            <Empty
              text="Nothing was sent: nobody has installed it yet."
              api={`POST /api/marketplace/${app.slug}/install`}
            />
          ) : (
            <>
              <Select
                label="Install"
                value={installId}
                onChange={(install) => void navigate({ to: ".", search: { ...search, install }, replace: true })}
                options={[
                  ...(data.some((one) => one.installId === installId)
                    ? []
                    : [[installId, shortOf(installId)] as const]),
                  ...data.map((one) => [one.installId, `${shortOf(one.installId)}, ${inWords(one.status)}`] as const),
                ]}
              />
              <CallList appId={appId} installId={installId} />
            </>
          )
        }
      </Answer>
    </Section>
  );
}

function CallList({ appId, installId }: { appId: string; installId: string }) {
  const calls = useQuery(PublisherService.method.listInstallCalls, { appId, installId }, { refetchInterval: 5_000 });
  return (
    <Answer of={calls} lines={3}>
      {({ data }) =>
        data.length === 0 ? (
          <Empty text="Nothing was sent yet." />
        ) : (
          <>
            <Facts>{[["Organization", organizationIn(data[0]?.requestBody ?? "")]]}</Facts>
            <ol className={style["calls"]} aria-label="Calls">
              {data.map((call, at) => (
                <Call key={data.length - at} call={call} />
              ))}
            </ol>
          </>
        )
      }
    </Answer>
  );
}

function Call({ call }: { call: InstallCall }) {
  return (
    <li>
      <details>
        <summary>
          <strong>{call.statusCode ?? "No answer"}</strong> <code>{call.type}</code>{" "}
          <span className={style["soft"]}>
            {call.durationMs.toLocaleString("en")} ms{call.at !== undefined && ` · ${ago(timestampDate(call.at))}`}
          </span>
        </summary>
        {call.error !== undefined && <p>{call.error}</p>}
        <h3>Body</h3>
        <pre className={style["body"]} tabIndex={0}>
          {pretty(call.requestBody)}
        </pre>
        {call.response !== undefined && call.response !== "" && (
          <>
            <h3>Answer</h3>
            <pre className={style["body"]} tabIndex={0}>
              {pretty(call.response)}
            </pre>
          </>
        )}
      </details>
    </li>
  );
}

const shortOf = (installId: string): string => installId.slice(0, 8);

/** Name of the organization that an install is of, from what the publisher's server was told. */
function organizationIn(requestBody: string): string | undefined {
  try {
    return (JSON.parse(requestBody) as { data?: { org?: { name?: string } } }).data?.org?.name;
  } catch {
    return undefined;
  }
}

/** JSON with indentation; any other text as it is. */
function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
