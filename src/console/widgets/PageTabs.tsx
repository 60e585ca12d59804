import { Tabs } from "@base-ui/react/tabs";
import { useNavigate, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import style from "./PageTabs.module.css";

interface PageTabsProps {
  /** Name of the list of tabs. */
  label: string;
  /** Name in the address. */
  param?: string;
  /** The first is shown where the address names none. */
  tabs: readonly { name: string; label: string; content: () => ReactNode }[];
}

/** Tabs of a page. The address says which one is open: Back, reload and a shared link give the same. */
export function PageTabs({ label, param = "tab", tabs }: PageTabsProps) {
  const search: Readonly<Record<string, string | undefined>> = useSearch({ strict: false });
  const navigate = useNavigate();
  const open = tabs.find(({ name }) => name === search[param]) ?? tabs[0];
  return (
    <Tabs.Root
      className={style["tabs"]}
      value={open?.name ?? ""}
      onValueChange={(name: string) =>
        void navigate({ to: ".", search: name === tabs[0]?.name ? {} : { [param]: name } })
      }
    >
      <Tabs.List className={style["list"]} aria-label={label}>
        {tabs.map((one) => (
          <Tabs.Tab key={one.name} value={one.name} className={style["tab"]}>
            {one.label}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {tabs.map((one) => (
        <Tabs.Panel key={one.name} value={one.name} className={style["panel"]}>
          {one.name === open?.name && one.content()}
        </Tabs.Panel>
      ))}
    </Tabs.Root>
  );
}
