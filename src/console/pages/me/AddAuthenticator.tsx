import { useState } from "react";
import { encode } from "uqr";
import { MfaService } from "../../../../gen/atrium/mfa/v1/mfa_pb.ts";
import type { NewFactor } from "../../../../gen/atrium/mfa/v1/mfa_pb.ts";
import { Button } from "../../widgets/Button.tsx";
import { Copy } from "../../widgets/Copy.tsx";
import { Dialog, DialogActions } from "../../widgets/Dialog.tsx";
import { FormBody, Input } from "../../widgets/form/Field.tsx";
import { FailureNotice, Notice } from "../../widgets/Notice.tsx";
import { useCall } from "../../widgets/use-call.ts";
import style from "./AddAuthenticator.module.css";

/** A QR code as one path: black squares on white, whatever the theme, because phones expect it. */
function QrCode({ text }: { text: string }) {
  const { data, size } = encode(text, { border: 2 });
  const squares = data.flatMap((row, y) => row.flatMap((dark, x) => (dark ? [`M${x} ${y}h1v1h-1z`] : [])));
  return (
    <svg className={style["qr"]} viewBox={`0 0 ${size} ${size}`} role="img" aria-label="QR code">
      <rect width={size} height={size} fill="#fff" />
      <path d={squares.join("")} fill="#000" shapeRendering="crispEdges" />
    </svg>
  );
}

interface AddProps {
  factor: NewFactor;
  onClose: () => void;
  onActive: () => void;
}

/** Shows the secret of a new authenticator once, and activates it with its first code. */
export function AddAuthenticator({ factor, onClose, onActive }: AddProps) {
  const [code, setCode] = useState("");
  const verify = useCall(MfaService.method.verifyFactor, { done: "Authenticator added" });
  const { failure } = verify;
  // Whoever closes removes the factor, which may be active by then.
  const close = (): void => {
    if (!verify.busy) onClose();
  };
  return (
    <Dialog
      title="Add authenticator"
      about="Scan the code with an authenticator app, then enter the 6 digits that it shows."
      open
      onClose={close}
    >
      <div className={style["grid"]}>
        <QrCode text={factor.otpauthUri} />
        <div className={style["facts"]}>
          <Input
            label="Secret key"
            value={factor.secret}
            readOnly
            onChange={() => undefined}
            spellCheck={false}
            autoComplete="off"
          />
          <div>
            For an app on this device: <Copy text={factor.secret} what="secret key" />
          </div>
        </div>
      </div>
      <FormBody
        onSubmit={(event) => {
          event.preventDefault();
          void verify.run({ id: factor.id, code: code.replaceAll(/\s/gu, "") }).then((done) => done && onActive());
        }}
      >
        <Input
          label="Code"
          value={code}
          onChange={setCode}
          inputMode="numeric"
          autoComplete="one-time-code"
          maxLength={9}
          data-focus-first
        />
        {failure !== undefined &&
          (failure.code === "unauthorized" ? (
            <Notice kind="bad" requestId={failure.requestId}>
              The code is wrong. Wait for the next one, and check the clock of the device.
            </Notice>
          ) : (
            <FailureNotice failure={failure} />
          ))}
        <DialogActions>
          <Button onClick={close}>Cancel</Button>
          <Button look="primary" type="submit" busy={verify.busy}>
            Activate
          </Button>
        </DialogActions>
      </FormBody>
    </Dialog>
  );
}
