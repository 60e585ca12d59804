import { useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { MfaService } from "../../../../gen/atrium/mfa/v1/mfa_pb.ts";
import type { Factor, NewFactor } from "../../../../gen/atrium/mfa/v1/mfa_pb.ts";
import { Status } from "../../widgets/Badge.tsx";
import { Button } from "../../widgets/Button.tsx";
import { CodeSample } from "../../widgets/CodeSample.tsx";
import { Confirm, SecretDialog } from "../../widgets/Dialog.tsx";
import { FailureNotice, Notice } from "../../widgets/Notice.tsx";
import { Page, Section } from "../../widgets/Page.tsx";
import { Answer, Empty } from "../../widgets/States.tsx";
import { Rows } from "../../widgets/table/Rows.tsx";
import { useCall } from "../../widgets/use-call.ts";
import { plural } from "../../widgets/words.ts";
import { AddAuthenticator } from "./AddAuthenticator.tsx";
import { Password } from "./ChangePassword.tsx";

const labelOf = ({ label, id }: Factor): string => label ?? `authenticator ${id}`;

/** Password, second factor and recovery codes of the caller. */
export default function Security() {
  const factors = useQuery(MfaService.method.listFactors, {});
  const codes = useQuery(MfaService.method.listRecoveryCodes, {});
  const [adding, setAdding] = useState<NewFactor>();
  const [removed, setRemoved] = useState<Factor>();
  const [renewing, setRenewing] = useState(false);
  const [shown, setShown] = useState<readonly string[]>();
  const create = useCall(MfaService.method.createFactor);
  const remove = useCall(MfaService.method.deleteFactor, { done: "Authenticator removed" });
  const discard = useCall(MfaService.method.deleteFactor);
  const regenerate = useCall(MfaService.method.regenerateRecoveryCodes);
  const active = factors.data?.data.filter(({ status }) => status === "active") ?? [];

  async function newCodes(): Promise<void> {
    const answer = await regenerate.run({});
    if (answer?.data === undefined) return;
    setRenewing(false);
    setShown(answer.data.codes);
  }

  return (
    <Page title="Security" about="How you prove that it is you.">
      <Password />
      <Section
        title="Authenticator"
        about="A second factor: an app that shows a new code every 30 seconds."
        actions={
          <Button
            data-create
            look="primary"
            busy={create.busy}
            onClick={() => void create.run({ factorType: "totp" }).then((answer) => setAdding(answer?.data))}
          >
            Add authenticator
          </Button>
        }
      >
        {create.failure !== undefined && <FailureNotice failure={create.failure} />}
        {discard.failure !== undefined && <FailureNotice failure={discard.failure} />}
        <Answer of={factors} lines={2}>
          {({ data }) =>
            data.length === 0 ? (
              <Empty text="You have no second factor. With one, a stolen password is not enough to sign in." />
            ) : (
              <Rows
                caption="Authenticators"
                rows={data}
                rowKey={({ id }) => String(id)}
                columns={[
                  { header: "Name", cell: (factor) => labelOf(factor) },
                  { header: "Status", cell: ({ status }) => <Status of={status} /> },
                ]}
                actions={(factor) => (
                  <Button small onClick={() => setRemoved(factor)}>
                    Remove {labelOf(factor)}
                  </Button>
                )}
              />
            )
          }
        </Answer>
      </Section>
      {active.length > 0 && (
        <Section
          title="Recovery codes"
          about="Each signs you in once when the authenticator is lost."
          actions={
            <Button busy={regenerate.busy} onClick={() => setRenewing(true)}>
              New recovery codes
            </Button>
          }
        >
          {!renewing && regenerate.failure !== undefined && <FailureNotice failure={regenerate.failure} />}
          <Answer of={codes} lines={1}>
            {({ data }) => <CodesLeft count={data.filter(({ usedAt }) => usedAt === undefined).length} />}
          </Answer>
        </Section>
      )}
      <CodeSample http="GET /api/v1/me/mfa/factors" />
      {adding !== undefined && (
        <AddAuthenticator
          factor={adding}
          // Its secret is not shown again: nobody could activate it later.
          onClose={() => {
            setAdding(undefined);
            void discard.run({ id: adding.id });
          }}
          onActive={() => {
            setAdding(undefined);
            // The first factor comes with recovery codes; a further one leaves them as they are.
            if (active.length === 0) void newCodes();
          }}
        />
      )}
      <Confirm
        title={`Remove ${removed === undefined ? "" : labelOf(removed)}?`}
        about={
          removed?.status === "pending"
            ? "It was never activated, and nothing else changes."
            : active.length <= 1
              ? "Your password alone will be enough to sign in, and your recovery codes end."
              : "Its codes stop working at once."
        }
        verb="Remove"
        open={removed !== undefined}
        call={remove}
        onCancel={() => setRemoved(undefined)}
        onConfirm={() => {
          if (removed === undefined) return;
          void remove.run({ id: removed.id }).then((done) => done && setRemoved(undefined));
        }}
      />
      <Confirm
        title="Make new recovery codes?"
        about="Your present codes stop working at once."
        verb="Make new codes"
        open={renewing}
        call={regenerate}
        onCancel={() => setRenewing(false)}
        onConfirm={() => void newCodes()}
      />
      <SecretDialog
        thing="set of recovery codes"
        secret={shown?.join("\n")}
        file="recovery-codes.txt"
        about="They are shown once. Keep them where you would keep a key, apart from the phone."
        print
        onSaved={() => setShown(undefined)}
      />
    </Page>
  );
}

function CodesLeft({ count }: { count: number }) {
  if (count >= 3) return <p>{plural(count, "code")} left.</p>;
  return <Notice kind="warn">{count === 0 ? "No code is left." : `Only ${plural(count, "code")} left.`}</Notice>;
}
