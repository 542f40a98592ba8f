import { Button, CopyButton } from '@mantine/core'

interface CopyProps {
  text: string
  /** What the button does, for example "Copy the ID". */
  label: string
}

/** A button that copies a text. */
export function Copy({ text, label }: CopyProps) {
  return (
    <CopyButton value={text}>
      {({ copied, copy }) => (
        <Button size="compact-sm" variant="default" onClick={copy}>
          {copied ? 'Copied' : label}
        </Button>
      )}
    </CopyButton>
  )
}

/** A command or text to copy, as it is. */
export function CopyBlock({ text, label }: CopyProps) {
  return (
    <div style={{ maxWidth: '100%' }}>
      {/* Scrollable, so it must be reachable with the keyboard. */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: WCAG 2.1.1, scrollable region */}
      <pre className="code surface scroll-x" tabIndex={0} style={{ padding: '0.75rem', margin: 0 }}>
        {text}
      </pre>
      <div style={{ marginTop: '0.5rem' }}>
        <Copy text={text} label={label} />
      </div>
    </div>
  )
}
