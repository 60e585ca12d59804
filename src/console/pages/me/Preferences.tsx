import { setPreferences, usePreferences } from "../../session/preferences.ts";
import { Check, Radios, Select } from "../../widgets/form/Field.tsx";
import { Page, Section } from "../../widgets/Page.tsx";

/** What this browser remembers. */
export default function Preferences() {
  const { theme, timeZone, shortcuts } = usePreferences();
  const zones = Intl.supportedValuesOf("timeZone");
  return (
    <Page title="Preferences" about="These are kept in this browser and apply at once.">
      <Section title="Look">
        <Radios
          legend="Theme"
          name="theme"
          value={theme}
          onChange={(value) => setPreferences({ theme: value as typeof theme })}
          options={[
            ["system", "As the system"],
            ["light", "Light"],
            ["dark", "Dark"],
          ]}
        />
        <Select
          label="Time zone"
          value={timeZone}
          onChange={(value) => setPreferences({ timeZone: value })}
          options={[["local", "That of this browser"], ...zones.map((zone) => [zone, zone] as const)]}
          hint="Times are also shown in UTC."
        />
      </Section>
      <Section title="Keyboard">
        <Check
          label="Single keys are shortcuts"
          checked={shortcuts}
          onChange={(checked) => setPreferences({ shortcuts: checked })}
        />
      </Section>
    </Page>
  );
}
