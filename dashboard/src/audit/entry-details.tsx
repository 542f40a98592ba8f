import { escapeInvisibleLine } from '../components/visible-text.ts'

/** The details of an entry of the log, as names and values. */
export function DetailList({ details }: { details: Readonly<Record<string, unknown>> }) {
  const filled = Object.entries(details).filter(([, value]) => value !== null)
  return (
    <dl className="facts">
      {filled.map(([name, value]) => (
        <div key={name}>
          <dt>{escapeInvisibleLine(name.replaceAll('_', ' '))}</dt>
          <dd className="anywhere">
            <bdi>{escapeInvisibleLine(detailText(value), DETAIL_CHARACTERS_MAX)}</bdi>
          </dd>
        </div>
      ))}
    </dl>
  )
}

const DETAIL_CHARACTERS_MAX = 2_000

function detailText(value: unknown): string {
  const parts = [value].flat()
  const isText = parts.every(part => typeof part === 'string')
  return isText ? parts.join(', ') : (JSON.stringify(value) ?? '')
}
