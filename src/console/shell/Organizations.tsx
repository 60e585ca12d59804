import { Menu } from "@base-ui/react/menu";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Building2, Check, ChevronDown, Plus } from "lucide-react";
import { useState } from "react";
import { SessionsService } from "../../../gen/atrium/sessions/v1/sessions_pb.ts";
import { UsersService } from "../../../gen/atrium/users/v1/users_pb.ts";
import { failureOf } from "../session/failures.ts";
import type { Failure } from "../session/failures.ts";
import { admit, transport } from "../session/session.ts";
import { useMe } from "../session/use-session.ts";
import { settings } from "../settings.ts";
import { Button } from "../widgets/Button.tsx";
import { Dialog, DialogActions, Discard } from "../widgets/Dialog.tsx";
import { unsavedStore } from "../widgets/guard.ts";
import { FailureNotice } from "../widgets/Notice.tsx";
import { useEvery } from "../widgets/table/use-every.ts";
import { alertToast, toast } from "../widgets/toasts.ts";
import style from "./Shell.module.css";

/** Goes on in another organization of the same person. Resolves to the failure, if any. */
async function switchTo(orgUuid: string, name: string): Promise<Failure | undefined> {
  try {
    const { message } = await transport.unary(
      SessionsService.method.switchOrganization,
      undefined,
      undefined,
      undefined,
      {
        orgUuid,
      },
    );
    await admit(message);
    toast(`You are in ${name}`);
    return undefined;
  } catch (error) {
    return failureOf(error);
  }
}

/** The organization that the pages show, and the others of the caller. */
export function Organizations() {
  const me = useMe();
  const navigate = useNavigate();
  const search: Readonly<Record<string, string | undefined>> = useSearch({ strict: false });
  const [open, setOpen] = useState(false);
  // What was chosen in the menu while the page has input that would be lost.
  const [asked, setAsked] = useState<{ orgUuid: string; name: string }>();
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Failure>();
  const wanted = search["org"];
  const linked = wanted !== undefined && wanted !== me.orgUuid;
  const list = useEvery({ method: UsersService.method.listOrganizations }, { enabled: open || linked });
  const target = linked ? list.data?.data.find(({ orgUuid }) => orgUuid === wanted) : undefined;
  const stay = (): void => {
    const { org: _org, ...rest } = search;
    setFailure(undefined);
    void navigate({ to: ".", search: rest, replace: true });
  };
  const change = async (orgUuid: string, name: string): Promise<void> => {
    const failed = await switchTo(orgUuid, name);
    if (failed !== undefined) alertToast(failed);
    else if (!linked) void navigate({ to: "/console" });
  };
  const follow = async (): Promise<void> => {
    if (target === undefined) return;
    setBusy(true);
    const failed = await switchTo(target.orgUuid, target.name);
    setBusy(false);
    if (failed === undefined) stay();
    else setFailure(failed);
  };
  const name = me.orgName ?? "none";
  return (
    <>
      <Menu.Root open={open} onOpenChange={setOpen}>
        <Menu.Trigger className={`${style["menu"]} ${style["bordered"]}`} aria-label={`Organization: ${name}`}>
          <Building2 size={15} aria-hidden />
          <span>{name}</span>
          <ChevronDown size={14} aria-hidden />
        </Menu.Trigger>
        <Menu.Portal>
          <Menu.Positioner className={style["floating"]} sideOffset={6} align="start">
            <Menu.Popup className={style["popup"]}>
              <div className={style["label"]}>Your organizations</div>
              {list.data?.data.map(({ orgUuid, name: other, role }) => (
                <Menu.Item
                  key={orgUuid}
                  className={style["item"]}
                  onClick={() => {
                    if (orgUuid === me.orgUuid) return;
                    if (unsavedStore.get() !== undefined) setAsked({ orgUuid, name: other });
                    else void change(orgUuid, other);
                  }}
                >
                  {orgUuid === me.orgUuid ? <Check size={15} aria-hidden /> : <Building2 size={15} aria-hidden />}
                  <span>
                    {other} <small>{role}</small>
                  </span>
                </Menu.Item>
              ))}
              {list.data?.data.length === 0 && <div className={style["label"]}>You belong to none.</div>}
              {list.data === undefined && (
                <div className={style["label"]}>
                  {list.error === null ? "Loading …" : failureOf(list.error).message}
                </div>
              )}
              {(settings.openSignup || me.platformAdmin) && (
                <>
                  <div className={style["rule"]} />
                  <Menu.Item className={style["item"]} onClick={() => void navigate({ to: "/sign-up" })}>
                    <Plus size={15} aria-hidden />
                    Create an organization
                  </Menu.Item>
                </>
              )}
            </Menu.Popup>
          </Menu.Positioner>
        </Menu.Portal>
      </Menu.Root>
      <Dialog
        title={`Switch to ${target?.name ?? ""}?`}
        about="The link is about another organization of yours."
        open={target !== undefined}
        onClose={stay}
      >
        {failure !== undefined && <FailureNotice failure={failure} />}
        <DialogActions>
          <Button onClick={stay}>Stay in {name}</Button>
          <Button look="primary" busy={busy} onClick={() => void follow()}>
            Switch
          </Button>
        </DialogActions>
      </Dialog>
      <Discard
        open={asked !== undefined}
        onCancel={() => setAsked(undefined)}
        onConfirm={() => {
          setAsked(undefined);
          if (asked !== undefined) void change(asked.orgUuid, asked.name);
        }}
      />
    </>
  );
}
