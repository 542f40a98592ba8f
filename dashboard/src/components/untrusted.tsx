import { Button } from '@mantine/core'
import { useState } from 'react'
import { escapeInvisible, escapeInvisibleLine } from './visible-text.ts'

/**
 * A name from an agent or a platform, isolated so that it cannot change the text direction around
 * it, with invisible characters as code points.
 */
export function UntrustedName({ name }: { name: string }) {
  return <bdi className="anywhere">{escapeInvisibleLine(name)}</bdi>
}

const SHORT_CHARACTERS = 280

/** A text from an agent, platform or person, as a quotation. A long one opens to the whole. */
export function UntrustedText({ text }: { text: string }) {
  const [isWhole, setWhole] = useState(false)
  const visible = escapeInvisible(text)
  const short = escapeInvisibleLine(text, SHORT_CHARACTERS)
  const isLong = short.endsWith('…') && !visible.endsWith('…')
  return (
    <div>
      <blockquote className="written" dir="auto">
        {isLong && !isWhole ? short : visible}
      </blockquote>
      {isLong && (
        <Button variant="subtle" size="compact-xs" onClick={() => setWhole(!isWhole)}>
          {isWhole ? 'Show less' : 'Show the whole text'}
        </Button>
      )}
    </div>
  )
}
