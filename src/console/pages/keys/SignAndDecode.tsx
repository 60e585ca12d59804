import type { JsonObject } from "@bufbuild/protobuf";
import { useId, useState } from "react";
import { SigningKeysService } from "../../../../gen/atrium/signing_keys/v1/signing_keys_pb.ts";
import { useOrg } from "../../session/use-session.ts";
import { Button } from "../../widgets/Button.tsx";
import { Copy } from "../../widgets/Copy.tsx";
import fieldStyle from "../../widgets/form/Field.module.css";
import { FormBody } from "../../widgets/form/Field.tsx";
import { FailureNotice } from "../../widgets/Notice.tsx";
import { Section } from "../../widgets/Page.tsx";
import { useCall } from "../../widgets/use-call.ts";
import { decodeJwt } from "./jwt.ts";
import style from "./Keys.module.css";

/** Signs claims with the active key, and shows what a token says. Decoding happens in this browser. */
export function SignAndDecode({ activeKey }: { activeKey: string | undefined }) {
  const orgUuid = useOrg();
  const [claims, setClaims] = useState('{"sub": "example"}');
  const [token, setToken] = useState("");
  const [fault, setFault] = useState<string>();
  const sign = useCall(SigningKeysService.method.sign);
  const decoded = token.trim() === "" ? undefined : decodeJwt(token);
  const submit = async (): Promise<void> => {
    const payload = objectOf(claims);
    setFault(payload === undefined ? "Enter a JSON object, such as the example." : undefined);
    if (payload === undefined || activeKey === undefined) return;
    const made = await sign.run({ orgUuid, keyId: activeKey, payload });
    if (made !== undefined) setToken(made.token);
  };
  return (
    <Section title="Sign and decode" about="A token lasts 15 minutes unless the claims have exp, at most a day ahead.">
      <FormBody
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <Area label="Claims" value={claims} onChange={setClaims} error={fault} />
        {sign.failure !== undefined && <FailureNotice failure={sign.failure} />}
        <div>
          <Button type="submit" busy={sign.busy} disabled={activeKey === undefined}>
            Sign
          </Button>
        </div>
        <Area label="Token" value={token} onChange={setToken} error={undefined} />
      </FormBody>
      {token.trim() !== "" &&
        (decoded === undefined ? (
          <p>This is no JSON Web Token.</p>
        ) : (
          <div>
            <Copy text={token} what="token" />
            <pre className={style["jwks"]} tabIndex={0} aria-label="Decoded token">
              {JSON.stringify(decoded, null, 2)}
            </pre>
          </div>
        ))}
    </Section>
  );
}

interface AreaProps {
  label: string;
  value: string;
  onChange: (text: string) => void;
  error: string | undefined;
}

function Area({ label, value, onChange, error }: AreaProps) {
  const id = useId();
  return (
    <div className={fieldStyle["field"]}>
      <label className={fieldStyle["label"]} htmlFor={id}>
        {label}
      </label>
      <textarea
        id={id}
        className={fieldStyle["input"]}
        value={value}
        onChange={({ target }) => onChange(target.value)}
        aria-invalid={error !== undefined || undefined}
        spellCheck={false}
      />
      {error !== undefined && <div className={fieldStyle["error"]}>{error}</div>}
    </div>
  );
}

function objectOf(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}
