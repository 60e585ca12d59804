import { useEffect, useRef, useState } from "react";
import { UsersService } from "../../../../gen/atrium/users/v1/users_pb.ts";
import type { Failure } from "../../session/failures.ts";
import { useOrg } from "../../session/use-session.ts";
import { Button } from "../../widgets/Button.tsx";
import { ShowAsCode } from "../../widgets/CodeSample.tsx";
import { Copy } from "../../widgets/Copy.tsx";
import { Dialog, DialogActions } from "../../widgets/Dialog.tsx";
import { FormBody, Select, TextArea } from "../../widgets/form/Field.tsx";
import { violationsOf } from "../../widgets/form/scope.tsx";
import { Notice } from "../../widgets/Notice.tsx";
import { classes, plural } from "../../widgets/words.ts";
import { useCall } from "../../widgets/use-call.ts";
import { roleLabel, useRoles } from "../roles/use-roles.ts";
import { inviteesIn } from "./invitees.ts";
import style from "./Invitations.module.css";

interface Result {
  line: string;
  text: string;
  good: boolean;
  /** Of the request that failed. */
  requestId: string | undefined;
}

/** Invites many people at once, and says of each line how it went. */
export function Invite({ onClose }: { onClose: () => void }) {
  const orgUuid = useOrg();
  const [text, setText] = useState("");
  const [role, setRole] = useState("");
  const [busy, setBusy] = useState(false);
  const [results, setResults] = useState<readonly Result[]>([]);
  const failure = useRef<Failure>(undefined);
  const job = useRef<AbortController>(undefined);
  useEffect(() => () => job.current?.abort(), []);
  const roles = useRoles();
  const call = useCall(UsersService.method.createInvitation, {
    onFailure: (failed) => {
      failure.current = failed;
    },
  });
  const known = roles.data?.data ?? [];
  const chosen = Number(role || known.find(({ name }) => name === "employee")?.id);
  const invitees = inviteesIn(
    text,
    known.map(({ name }) => name),
  );
  const count = invitees.filter(({ email }) => email !== undefined).length;

  /** Invites one after another; what failed or was stopped stays in the text, to be mended and sent again. */
  const send = async (): Promise<void> => {
    const { signal } = (job.current = new AbortController());
    setBusy(true);
    const told: Result[] = [];
    const left: string[] = [];
    let stopped: string | undefined;
    for (const { line, email, role: own } of invitees) {
      if (signal.aborted) {
        left.push(line);
        continue;
      }
      failure.current = undefined;
      const roleId = known.find(({ name }) => name === own)?.id ?? chosen;
      const made =
        email === undefined || stopped !== undefined ? undefined : await call.run({ orgUuid, email, roleId });
      const reason = failure.current as Failure | undefined;
      if (reason?.code === "rate_limited") stopped = reason.message;
      if (made === undefined) left.push(line);
      const text =
        made === undefined
          ? email === undefined
            ? "There is no address in this line."
            : reason === undefined
              ? (stopped ?? "Not invited")
              : violationsOf(reason).join(" ") || reason.message
          : `Invited as ${roleLabel(made.roleId, made.role)}`;
      told.push({ line: email ?? line, text, good: made !== undefined, requestId: reason?.requestId });
      setResults([...told]);
    }
    setText([...new Set(left)].join("\n"));
    setBusy(false);
  };

  const invited = results.filter(({ good }) => good).length;
  const over = results.length > 0 && text === "" && !busy;
  return (
    <Dialog
      title="Invite"
      about="One address a line. Everybody gets a mail with a link that works once, for 7 days."
      open
      wide
      dirty={text !== ""}
      onClose={onClose}
    >
      <FormBody
        onSubmit={(event) => {
          event.preventDefault();
          if (count > 0 && !busy) void send();
        }}
      >
        {!over && (
          <>
            <TextArea
              label="Emails"
              rows={5}
              value={text}
              onChange={setText}
              placeholder={"ada@example.com\ngrace@example.com, manager"}
              hint="A role after a comma holds for that line."
            />
            <label className={style["field"]}>
              <span className={style["label"]}>CSV file</span>
              <input
                type="file"
                accept=".csv,.txt"
                onChange={({ target }) =>
                  void target.files?.[0]?.text().then((more) => setText((before) => `${before}\n${more}`.trim()))
                }
              />
            </label>
            <Select
              label="Role"
              value={String(chosen)}
              onChange={setRole}
              options={known.map(({ id, name }) => [String(id), roleLabel(id, name)])}
            />
            {text !== "" && count === 0 && <Notice kind="warn">There is no address in this text.</Notice>}
          </>
        )}
        {results.length > 0 && (
          <div role="status" className={style["field"]}>
            <p>
              {invited} of {plural(results.length, "line")} invited
              {!busy && job.current?.signal.aborted === true && ". Stopped: the other lines are not sent."}
            </p>
            <ul aria-label="Results" className={style["results"]} tabIndex={0}>
              {results.map(({ line, text: words, good, requestId }) => (
                <li key={line}>
                  <span>{line}</span>
                  <span className={classes(style["result"], good && style["good"])}>
                    {words}
                    {requestId !== undefined && <Copy text={requestId} what="request id" />}
                  </span>
                </li>
              ))}
            </ul>
          </div>
        )}
        <ShowAsCode
          http={`POST /api/admin/organizations/${orgUuid}/invitations`}
          body={{ email: invitees[0]?.email ?? "ada@example.com", role_id: chosen || 3 }}
        />
        <DialogActions>
          {busy ? (
            <Button onClick={() => job.current?.abort()}>Stop</Button>
          ) : (
            <Button onClick={onClose}>{over ? "Close" : "Cancel"}</Button>
          )}
          {!over && (
            <Button look="primary" type="submit" busy={busy} disabled={count === 0}>
              Invite
            </Button>
          )}
        </DialogActions>
      </FormBody>
    </Dialog>
  );
}
