import { useState } from "react";
import { verifyExport } from "../../../audit-proof/index.ts";
import type { ProofResult } from "../../../audit-proof/index.ts";
import { AuthEventsService } from "../../../../gen/atrium/auth_events/v1/auth_events_pb.ts";
import { SigningKeysService } from "../../../../gen/atrium/signing_keys/v1/signing_keys_pb.ts";
import { failureOf } from "../../session/failures.ts";
import { callRest } from "../../session/session.ts";
import { useOrg } from "../../session/use-session.ts";
import { Button } from "../../widgets/Button.tsx";
import { FailureNotice, Notice } from "../../widgets/Notice.tsx";
import { useCall } from "../../widgets/use-call.ts";
import { plural } from "../../widgets/words.ts";
import style from "./Audit.module.css";

interface Outcome {
  kind: "good" | "warn" | "bad";
  message: string;
  requestId?: string | undefined;
}

/** Proves that the log is whole: by the service, or in this browser, which takes nothing on trust but the keys. */
export function Proof() {
  const orgUuid = useOrg();
  const verify = useCall(AuthEventsService.method.verifyAuditEvents);
  const [busy, setBusy] = useState(false);
  const [outcome, setOutcome] = useState<Outcome>();

  const onServer = async (): Promise<void> => {
    setOutcome(undefined);
    const answer = await verify.run({ orgUuid });
    if (answer === undefined) return;
    setOutcome({
      kind: answer.valid ? "good" : "bad",
      message: answer.valid
        ? `Valid: ${plural(answer.events, "event")}, checked by the service.`
        : `Not valid: the chain is broken at event ${answer.firstBrokenEventId ?? "unknown"}.`,
    });
  };

  const inBrowser = async (file?: File): Promise<void> => {
    setBusy(true);
    setOutcome(undefined);
    verify.clear();
    try {
      const { getOrganizationJwks } = SigningKeysService.method;
      const organization = `/api/organizations/${orgUuid}`;
      const answer = await callRest(getOrganizationJwks, `${organization}/.well-known/jwks.json`);
      const keys: unknown = await answer.json();
      const { exportAuditEvents } = AuthEventsService.method;
      const log =
        file ?? (await (await callRest(exportAuditEvents, `${organization}/audit-events/export?format=ndjson`)).blob());
      setOutcome(wordsOf(await verifyExport(textOf(log), keys)));
    } catch (error) {
      const isOwn = error instanceof Error && error.name === "Error";
      setOutcome({ kind: "bad", ...(isOwn ? { message: `Not valid: ${error.message}.` } : failureOf(error)) });
    } finally {
      setBusy(false);
    }
  };

  return (
    <div className={style["proof"]}>
      <div className={style["buttons"]}>
        <Button busy={busy} onClick={() => void inBrowser()}>
          Verify in this browser
        </Button>
        <Button busy={verify.busy} onClick={() => void onServer()}>
          Verify on server
        </Button>
        <label className={style["file"]}>
          Verify a file
          <input
            type="file"
            accept=".ndjson,.json"
            onChange={({ target }) => {
              const [file] = target.files ?? [];
              if (file !== undefined) void inBrowser(file);
              target.value = "";
            }}
          />
        </label>
      </div>
      {verify.failure !== undefined && <FailureNotice failure={verify.failure} />}
      {outcome !== undefined && (
        <div role="status">
          <Notice kind={outcome.kind} requestId={outcome.requestId}>
            {outcome.message}
          </Notice>
        </div>
      )}
    </div>
  );
}

function wordsOf({ events, problem, missingKey, head }: ProofResult): Outcome {
  if (problem !== null) {
    const where = problem.eventId === null ? "" : `event ${problem.eventId}: `;
    return { kind: "bad", message: `Not valid: ${where}${problem.message}.` };
  }
  if (missingKey !== null)
    return {
      kind: "warn",
      message:
        `Not verified: the events fit each other, but the published keys have no key ${missingKey}, which their ` +
        "signature names. Without it, nothing shows that the service wrote them.",
    };
  if (head === null)
    return { kind: "warn", message: "Empty: there are no events and no signature, so that nothing is proved." };
  const signed = `up to number ${head.sequence}, signed by key ${head.kid}`;
  return { kind: "good", message: `Valid: ${plural(events, "event")}, ${signed}. Checked in this browser.` };
}

async function* textOf(log: Blob): AsyncGenerator<string> {
  const reader = log.stream().pipeThrough(new TextDecoderStream()).getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value;
}
