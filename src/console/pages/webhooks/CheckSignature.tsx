import { useId, useState } from "react";
import { Status } from "../../widgets/Badge.tsx";
import { Button } from "../../widgets/Button.tsx";
import { Dialog, DialogActions } from "../../widgets/Dialog.tsx";
import fieldStyle from "../../widgets/form/Field.module.css";
import { FormBody, Input } from "../../widgets/form/Field.tsx";
import { checkSignatures, readHeaders } from "./signatures.ts";
import type { Verdict } from "./signatures.ts";
import style from "./Webhooks.module.css";

/** Says whether a delivery that a receiver got is genuine, by both schemes. Nothing of it leaves this browser. */
export function CheckSignature({ onClose }: { onClose: () => void }) {
  const [secrets, setSecrets] = useState("");
  const [headers, setHeaders] = useState("");
  const [body, setBody] = useState("");
  const [verdicts, setVerdicts] = useState<readonly Verdict[]>();
  const check = async (): Promise<void> => {
    const given = secrets.split(/[\s,]+/u).filter(Boolean);
    setVerdicts(await checkSignatures({ secrets: given, headers: readHeaders(headers), body }, Date.now()));
  };
  return (
    <Dialog
      title="Check a signature"
      about="Paste what your receiver got. It is checked in this browser and sent to nobody."
      open
      wide
      dirty={secrets !== "" || headers !== "" || body !== ""}
      onClose={onClose}
    >
      <FormBody
        onSubmit={(event) => {
          event.preventDefault();
          void check();
        }}
      >
        <Input
          label="Secret"
          value={secrets}
          onChange={setSecrets}
          type="password"
          autoComplete="off"
          hint="During a rotation both, separated by a space."
        />
        <Area
          label="Headers"
          value={headers}
          onChange={setHeaders}
          placeholder={"webhook-id: evt_…\nwebhook-timestamp: 1763884800\nwebhook-signature: v1,…"}
        />
        <Area label="Body" value={body} onChange={setBody} placeholder='{"type":"webhook.test",…}' />
        <ul className={style["verdicts"]} role="status">
          {verdicts?.map(({ scheme, outcome, message }) => (
            <li key={scheme}>
              <strong>{scheme}</strong> <Status of={outcome} />
              <p>{message}</p>
            </li>
          ))}
        </ul>
        <DialogActions>
          <Button onClick={onClose}>Close</Button>
          <Button look="primary" type="submit">
            Check
          </Button>
        </DialogActions>
      </FormBody>
    </Dialog>
  );
}

interface AreaProps {
  label: string;
  value: string;
  onChange: (text: string) => void;
  placeholder: string;
}

function Area({ label, value, onChange, placeholder }: AreaProps) {
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
        placeholder={placeholder}
        spellCheck={false}
      />
    </div>
  );
}
