import { Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'

interface SectionProps {
  title: string
  /** A sentence below the title. */
  description?: ReactNode
  children: ReactNode
  /** Buttons beside the title. */
  actions?: ReactNode
}

/** A part of a page with a heading of its own. */
export function Section({ title, description, children, actions }: SectionProps) {
  return (
    <section className="surface section" aria-label={title}>
      <div className="section-head">
        <div>
          <Title order={2} size="h4">
            {title}
          </Title>
          {description && (
            <Text c="dimmed" size="sm" maw="42rem">
              {description}
            </Text>
          )}
        </div>
        {actions}
      </div>
      {children}
    </section>
  )
}

/** A name with its value; a fact without a value is left out. */
export type Fact = readonly [name: string, value: ReactNode]

/** Names and values, side by side where there is room. */
export function Facts({ facts }: { facts: readonly Fact[] }) {
  const known = facts.filter(([, value]) => value || value === 0)
  return (
    <dl className="facts">
      {known.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}
