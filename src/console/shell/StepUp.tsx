import type { DescMethod } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { useQuery } from "@connectrpc/connect-query";
import { useEffect, useRef, useState, useSyncExternalStore } from "react";
import { MfaService } from "../../../gen/atrium/mfa/v1/mfa_pb.ts";
import { StepUpService } from "../../../gen/atrium/step_up/v1/step_up_pb.ts";
import { UsersService } from "../../../gen/atrium/users/v1/users_pb.ts";
import type { Elevation } from "../../clients/typescript/index.ts";
import { failureOf } from "../session/failures.ts";
import type { Failure } from "../session/failures.ts";
import type { LinkToken } from "../session/link-token.ts";
import { stepUpPrompts, transport } from "../session/session.ts";
import { useMe } from "../session/use-session.ts";
import { Button } from "../widgets/Button.tsx";
import { Dialog, DialogActions } from "../widgets/Dialog.tsx";
import { FormBody, Input, Radios } from "../widgets/form/Field.tsx";
import { FailureNotice, Notice } from "../widgets/Notice.tsx";
import { clock, inWords } from "../widgets/words.ts";
import { leave } from "./leave.ts";
import { useCountdown } from "../widgets/use-countdown.ts";

type Method = "totp" | "recovery" | "password" | "magic_link";

/** The wait that a notice counts down: that of a lockout is counted down here. */
const waitOf = ({ code, retryAfter }: Failure): number | undefined =>
  code === "too_many_attempts" ? undefined : retryAfter;

const WORDS: Readonly<Record<Method, string>> = {
  totp: "Authenticator code",
  recovery: "Recovery code",
  password: "Password",
  magic_link: "Email link",
};

/** What an rpc does, in the words of the pages: `issueSvid` is "Issue SVID". */
const actionOf = ({ name }: DescMethod): string =>
  inWords(name).replaceAll(/\b(?:jwt|kms|svid)\b/gu, (acronym) => acronym.toUpperCase());

/** Codes after which a challenge takes no answer any more; after other failures the same one can be sent again. */
const SPENT: ReadonlySet<string> = new Set(["expired_challenge", "challenge_gone", "not_found", "too_many_attempts"]);

const steps = createClient(StepUpService, transport);

/** The dialog that asks for a new proof while a call waits; afterwards the call is repeated as it was. */
export function StepUp() {
  const prompt = useSyncExternalStore(stepUpPrompts.subscribe, stepUpPrompts.get);
  const { orgUuid } = useMe();
  return (
    <Dialog
      title="Confirm it is you"
      about={prompt && `To go on with “${actionOf(prompt.about)}”, prove who you are. It holds for 15 minutes.`}
      open={prompt !== undefined}
      onClose={() => prompt?.answer(undefined)}
    >
      {prompt !== undefined && orgUuid === undefined && <SignInAnew onDone={prompt.answer} />}
      {prompt !== undefined && orgUuid !== undefined && (
        <Proof factorsOnly={prompt.about.parent.typeName === MfaService.typeName} onDone={prompt.answer} />
      )}
    </Dialog>
  );
}

/** The service takes a new proof from members of an organization alone; from others a new sign-in. */
function SignInAnew({ onDone }: { onDone: (elevation: undefined) => void }) {
  return (
    <>
      <p>Without an organization the proof is a new sign-in: sign out, sign in, and do it within 15 minutes.</p>
      <DialogActions>
        <Button onClick={() => onDone(undefined)}>Cancel</Button>
        <Button look="primary" onClick={() => leave()}>
          Sign out
        </Button>
      </DialogActions>
    </>
  );
}

function Proof({ factorsOnly, onDone }: { factorsOnly: boolean; onDone: (elevation: Elevation | undefined) => void }) {
  const status = useQuery(MfaService.method.getMfaStatus, {});
  const profile = useQuery(UsersService.method.getProfile, {});
  const hasFactor = status.data?.hasActiveTotp === true;
  const onlyFactor = factorsOnly && hasFactor;
  const usable: Method[] = [
    ...(hasFactor ? (["totp"] as const) : []),
    ...(hasFactor && status.data?.hasRecoveryCodes === true ? (["recovery"] as const) : []),
    ...(onlyFactor || profile.data?.hasPassword === false ? [] : (["password"] as const)),
    ...(onlyFactor ? [] : (["magic_link"] as const)),
  ];
  const [chosen, setChosen] = useState<Method>();
  const method = chosen ?? usable[0] ?? "password";
  const [value, setValue] = useState("");
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Failure>();
  const [sent, setSent] = useState(false);
  const challenge = useRef<{ method: string; id: string }>(undefined);
  const locked = useCountdown(failure?.code === "too_many_attempts" ? failure.retryAfter : undefined, failure);

  // The link in the mail opens another tab, which hands its token to this one.
  useEffect(() => {
    const channel = new BroadcastChannel("atrium-step-up");
    channel.addEventListener("message", ({ data }: MessageEvent<Partial<LinkToken>>) => {
      // The channel also carries the acknowledgements of other tabs, and the tokens that these wait for.
      if (data.token === undefined || data.challengeId === undefined) return;
      if (data.challengeId !== challenge.current?.id) return;
      channel.postMessage({ taken: data.challengeId });
      void verify(data.token, "magic_link");
    });
    return () => channel.close();
  });

  async function attempt(work: () => Promise<unknown>): Promise<void> {
    setBusy(true);
    setFailure(undefined);
    try {
      await work();
    } catch (error) {
      const failed = failureOf(error);
      setFailure(failed);
      if (SPENT.has(failed.code)) {
        challenge.current = undefined;
        setSent(false);
      }
      if (failed.code === "invalid_code" || SPENT.has(failed.code)) setValue("");
    } finally {
      setBusy(false);
    }
  }

  async function challengeOf(wanted: string): Promise<string> {
    if (challenge.current?.method !== wanted) {
      const { challengeId } = await steps.createChallenge({ method: wanted });
      challenge.current = { method: wanted, id: challengeId };
    }
    return challenge.current.id;
  }

  const verify = (answer: string, by = method): Promise<void> =>
    attempt(async () => {
      const challengeId = await challengeOf(by === "recovery" ? "totp" : by);
      const elevation = await steps.verifyChallenge({
        challengeId,
        ...(by === "password"
          ? { password: answer }
          : by === "magic_link"
            ? { token: answer.trim() }
            : { code: answer.replaceAll(/\s/gu, ""), recovery: by === "recovery" }),
      });
      onDone(elevation);
    });

  if (status.isPending || profile.isPending) return <div aria-busy="true" />;
  const mail = method === "magic_link";
  return (
    <FormBody
      onSubmit={(event) => {
        event.preventDefault();
        if (mail && !sent) void attempt(() => challengeOf("magic_link").then(() => setSent(true)));
        else if (value !== "") void verify(value);
      }}
    >
      <Radios
        legend="Prove it by"
        name="method"
        value={method}
        onChange={(next) => {
          setChosen(next as Method);
          setValue("");
          setFailure(undefined);
          setSent(false);
        }}
        options={usable.map((one) => [one, WORDS[one]])}
      />
      {(!mail || sent) && (
        <Input
          key={method}
          label={WORDS[method]}
          value={value}
          onChange={setValue}
          // Not after a choice: the arrow keys go on to the next one.
          autoFocus={chosen === undefined}
          disabled={locked > 0}
          {...(method === "password"
            ? { type: "password", autoComplete: "current-password" }
            : { autoComplete: "one-time-code", spellCheck: false })}
          {...(method === "totp" && { inputMode: "numeric" as const, maxLength: 9 })}
          {...(mail && { hint: "Open the link in the mail and press its button, or paste the code it shows." })}
        />
      )}
      {locked > 0 ? (
        <Notice kind="bad" requestId={failure?.requestId}>
          Too many wrong answers. Try again in {clock(locked)}.
        </Notice>
      ) : (
        failure !== undefined && <FailureNotice failure={{ ...failure, retryAfter: waitOf(failure) }} />
      )}
      <DialogActions>
        <Button onClick={() => onDone(undefined)}>Cancel</Button>
        <Button look="primary" type="submit" busy={busy} disabled={locked > 0}>
          {mail && !sent ? "Send the link" : "Confirm"}
        </Button>
      </DialogActions>
    </FormBody>
  );
}
