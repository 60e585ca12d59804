import { Menu } from "@base-ui/react/menu";
import { useNavigate } from "@tanstack/react-router";
import { ChevronDown, LogOut, Moon, Monitor, Sun, User } from "lucide-react";
import { useState } from "react";
import { setPreferences, usePreferences } from "../session/preferences.ts";
import { useMe } from "../session/use-session.ts";
import { leave } from "./leave.ts";
import style from "./Shell.module.css";
import { SignOutEverywhere } from "./SignOutEverywhere.tsx";

const THEMES = [
  ["system", "System", Monitor],
  ["light", "Light", Sun],
  ["dark", "Dark", Moon],
] as const;

/** The caller: profile, theme, sign-out. */
export function Account() {
  const me = useMe();
  const { theme } = usePreferences();
  const navigate = useNavigate();
  const [asking, setAsking] = useState(false);
  return (
    <>
      <Menu.Root>
        <Menu.Trigger className={`${style["menu"]} ${style["compact"]}`} aria-label={`Account: ${me.email ?? ""}`}>
          <User size={16} aria-hidden />
          <span>{me.email}</span>
          <ChevronDown size={14} aria-hidden />
        </Menu.Trigger>
        <Menu.Portal>
          <Menu.Positioner className={style["floating"]} sideOffset={6} align="end">
            <Menu.Popup className={style["popup"]}>
              <Menu.Item className={style["item"]} onClick={() => void navigate({ to: "/console/me" })}>
                Profile
              </Menu.Item>
              <Menu.Item className={style["item"]} onClick={() => void navigate({ to: "/console/me/security" })}>
                Security
              </Menu.Item>
              <div className={style["rule"]} />
              <Menu.RadioGroup
                value={theme}
                onValueChange={(value: "system" | "light" | "dark") => setPreferences({ theme: value })}
              >
                <div className={style["label"]}>Theme</div>
                {THEMES.map(([value, label, Icon]) => (
                  <Menu.RadioItem key={value} value={value} className={style["item"]}>
                    <Icon size={15} aria-hidden />
                    {label}
                    <Menu.RadioItemIndicator>✓</Menu.RadioItemIndicator>
                  </Menu.RadioItem>
                ))}
              </Menu.RadioGroup>
              <div className={style["rule"]} />
              <Menu.Item className={style["item"]} onClick={() => leave()}>
                <LogOut size={15} aria-hidden />
                Sign out
              </Menu.Item>
              {me.orgUuid !== undefined && (
                <Menu.Item className={style["item"]} onClick={() => setAsking(true)}>
                  Sign out everywhere
                </Menu.Item>
              )}
            </Menu.Popup>
          </Menu.Positioner>
        </Menu.Portal>
      </Menu.Root>
      <SignOutEverywhere open={asking} onClose={() => setAsking(false)} />
    </>
  );
}
