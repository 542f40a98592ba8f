import { NativeSelect, SimpleGrid, Stack, Text, TextInput } from '@mantine/core'
import type { CellFormats } from '@signalbox/cli/src/import/cell-formats.ts'
import { type Column, DataTable } from '../components/data-table.tsx'
import { Section } from '../components/facts.tsx'
import { type FileColumn, MEMBERS } from './preview.ts'

/** What a person chose about a file. */
export interface Choices {
  /** A member for each column, in the order of the file; empty: ignored. */
  members: readonly string[]
  formats: CellFormats
  eventName: string
  currency: string
  consentBasis: string
}

interface MappingFormProps {
  columns: readonly FileColumn[]
  choices: Choices
  onChange: (choices: Choices) => void
}

/** What each column is, how its cells are written, and what rows without a column are. */
export function MappingForm({ columns, choices, onChange }: MappingFormProps) {
  const { members, formats } = choices
  const change = (changes: Partial<Choices>) => onChange({ ...choices, ...changes })
  const setFormat = (changes: CellFormats) => change({ formats: { ...formats, ...changes } })
  const rows = columns.map((column, index) => ({ ...column, index }))
  return (
    <Section
      title="Columns"
      description={
        'An ignored column is not sent. Emails, phones and external IDs are hashed in this browser.'
      }
    >
      <Stack gap="md">
        <DataTable
          label="Columns"
          columns={columnsFor(members, (index, member) =>
            change({ members: members.map((own, at) => (at === index ? member : own)) }),
          )}
          rows={rows}
          rowKey={({ index }) => String(index)}
        />
        <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }} spacing="md">
          <NativeSelect
            label="Amounts are written"
            data={DECIMALS}
            value={formats.decimal ?? ''}
            onChange={({ currentTarget: { value } }) =>
              setFormat({ decimal: (value || undefined) as CellFormats['decimal'] })
            }
          />
          <NativeSelect
            label="Dates are written"
            data={DATES}
            value={formats.dates ?? ''}
            onChange={({ currentTarget: { value } }) =>
              setFormat({ dates: (value || undefined) as CellFormats['dates'] })
            }
          />
          <NativeSelect
            label="Times without an offset are of"
            data={ZONES}
            value={formats.timeZone ?? ''}
            onChange={({ currentTarget: { value } }) => setFormat({ timeZone: value || undefined })}
          />
          <TextInput
            label="Event name of rows without one"
            placeholder="Purchase"
            value={choices.eventName}
            onChange={({ currentTarget }) => change({ eventName: currentTarget.value })}
          />
          <TextInput
            label="Currency of rows without one"
            placeholder="EUR"
            maxLength={3}
            value={choices.currency}
            onChange={({ currentTarget }) => change({ currency: currentTarget.value })}
          />
          <NativeSelect
            label="Basis of rows without one"
            data={BASES}
            value={choices.consentBasis}
            onChange={({ currentTarget }) => change({ consentBasis: currentTarget.value })}
          />
        </SimpleGrid>
        <Text size="sm" c="dimmed" maw="46rem">
          An empty consent cell is not a grant: where a column is about consent, such a row is
          stored and not sent. No other column overwrites a consent cell.
        </Text>
      </Stack>
    </Section>
  )
}

const DECIMALS = [
  { value: '', label: 'As the API takes them: 1234.50' },
  { value: 'point', label: 'With a point: 1,234.50' },
  { value: 'comma', label: 'With a comma: 1.234,50' },
]
const DATES = [
  { value: '', label: 'As the API takes them' },
  { value: 'ymd', label: 'Year, month, day: 2026-11-20' },
  { value: 'dmy', label: 'Day, month, year: 20.11.2026' },
  { value: 'mdy', label: 'Month, day, year: 11/20/2026' },
]
const OWN_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone
const ZONES = [
  { value: '', label: 'UTC' },
  ...[OWN_ZONE, ...Intl.supportedValuesOf('timeZone').filter(zone => zone !== OWN_ZONE)].map(
    zone => ({ value: zone, label: zone }),
  ),
]
const BASES = [
  { value: '', label: 'None: each row says it' },
  { value: 'consent', label: 'consent: each person agreed' },
  { value: 'legitimate_interest', label: 'legitimate_interest: kept, not sent' },
]

type Row = FileColumn & { index: number }

function columnsFor(
  members: readonly string[],
  onChange: (index: number, member: string) => void,
): readonly Column<Row>[] {
  return [
    {
      key: 'name',
      header: 'Column',
      wrap: 'free',
      cell: ({ name }) => <span className="code">{name}</span>,
    },
    {
      key: 'samples',
      header: 'First values',
      wrap: 'free',
      from: 'sm',
      cell: ({ samples }) => samples.filter(sample => sample !== '').join(' · ') || '–',
    },
    {
      key: 'member',
      header: 'Member of the event',
      cell: ({ name, index }) => (
        <NativeSelect
          aria-label={`Member of ${name}`}
          data={[{ value: '', label: 'Ignore' }, ...MEMBERS]}
          value={members[index] ?? ''}
          onChange={({ currentTarget }) => onChange(index, currentTarget.value)}
        />
      ),
    },
  ]
}
