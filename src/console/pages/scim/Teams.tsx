import { useState } from "react";
import { useOrg } from "../../session/use-session.ts";
import { serviceUrl } from "../../settings.ts";
import { Button } from "../../widgets/Button.tsx";
import { Input } from "../../widgets/form/Field.tsx";
import { useGuard } from "../../widgets/guard.ts";
import { Notice } from "../../widgets/Notice.tsx";
import { Section } from "../../widgets/Page.tsx";
import { Rows } from "../../widgets/table/Rows.tsx";
import { Time } from "../../widgets/Time.tsx";
import { plural } from "../../widgets/words.ts";
import { usePeople } from "../members/use-people.ts";
import style from "./Scim.module.css";

/** Most teams of one reading; the service answers no more at once. */
const MOST = 200;

interface Team {
  id: string;
  displayName: string;
  members?: { value: string; display?: string }[];
  meta?: { lastModified?: string };
}

interface Teams {
  totalResults: number;
  Resources?: Team[];
}

/** What the service said, and of which request. */
class Refused extends Error {
  readonly requestId: string | undefined;
  constructor(message: string, { headers }: Response) {
    super(message);
    this.requestId = headers.get("x-request-id") ?? undefined;
  }
}

/** @throws {Refused} with what the service said */
async function readTeams(orgUuid: string, token: string): Promise<Teams> {
  const response = await fetch(`${serviceUrl}/scim/v2/organizations/${orgUuid}/Groups?count=${MOST}`, {
    headers: { accept: "application/scim+json", authorization: `Bearer ${token}` },
  });
  if (response.status === 401) throw new Refused("This is no active SCIM token of this organization.", response);
  const body = (await response.json()) as Teams & { detail?: string };
  if (!response.ok) {
    throw new Refused(body.detail ?? `The service answered with status ${response.status}.`, response);
  }
  return body;
}

/** The groups of the directories. Only SCIM tokens read them, so the page asks for one, and keeps it nowhere. */
export function TeamsOfDirectories() {
  const orgUuid = useOrg();
  const people = usePeople();
  const [token, setToken] = useState("");
  useGuard(token !== "");
  const [busy, setBusy] = useState(false);
  const [teams, setTeams] = useState<Teams>();
  const [failure, setFailure] = useState<{ message: string; requestId?: string | undefined }>();
  async function read(): Promise<void> {
    setBusy(true);
    setFailure(undefined);
    try {
      setTeams(await readTeams(orgUuid, token.trim()));
      setToken("");
    } catch (error) {
      setFailure(error instanceof Refused ? error : { message: "The service does not answer. Try again." });
    } finally {
      setBusy(false);
    }
  }
  return (
    <Section
      title="Teams"
      about="Groups of the directory; they carry no power. Only a SCIM token reads them: paste one, it is not kept."
    >
      <form
        className={style["read"]}
        onSubmit={(event) => {
          event.preventDefault();
          void read();
        }}
      >
        <Input label="SCIM token" type="password" autoComplete="off" value={token} onChange={setToken} />
        <Button type="submit" busy={busy} disabled={token.trim() === ""}>
          Show teams
        </Button>
      </form>
      {failure !== undefined && (
        <Notice kind="bad" requestId={failure.requestId}>
          {failure.message}
        </Notice>
      )}
      {teams !== undefined && (
        <>
          <p role="status">
            {teams.totalResults === 0 ? "The directory has made no team yet." : plural(teams.totalResults, "team")}
            {teams.totalResults > MOST && `; the first ${MOST} are shown`}
          </p>
          {teams.totalResults > 0 && (
            <Rows
              caption="Teams"
              rows={teams.Resources ?? []}
              rowKey={({ id }) => id}
              columns={[
                { header: "Team", cell: ({ displayName }) => displayName },
                {
                  header: "Members",
                  cell: ({ members = [] }) =>
                    members.map(({ value, display }) => people.get(value) ?? display ?? value).join(", ") || "–",
                },
                {
                  header: "Changed",
                  cell: ({ meta }) => (
                    <Time at={meta?.lastModified === undefined ? undefined : new Date(meta.lastModified)} />
                  ),
                },
              ]}
            />
          )}
        </>
      )}
    </Section>
  );
}
