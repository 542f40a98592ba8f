import { List, Text, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { CopyBlock } from '../components/copy.tsx'
import { FormDialog, ResultDialog } from '../components/form-dialog.tsx'
import { formatCount } from '../components/format-count.ts'
import type { IdentifierType } from './digest-identifier.ts'
import { erasePerson, receiptsKey, type TrackerParams } from './privacy-api.ts'

interface EraseDialogProps {
  params: TrackerParams
  type: IdentifierType
  /** Of the identifier and of its other forms. */
  digests: readonly string[]
  onClose: (isErased: boolean) => void
}

const WORD = 'ERASE'

/** Asks to type a word, erases, and shows the number of the receipt. */
export function EraseDialog({ params, type, digests, onClose }: EraseDialogProps) {
  const [word, setWord] = useState('')
  const client = useQueryClient()
  const erase = useMutation({
    mutationFn: () => erasePerson(params, type, digests),
    onSettled: () => client.invalidateQueries({ queryKey: receiptsKey(params) }),
  })
  const { data: result } = erase
  if (result) {
    return (
      <ResultDialog title="The person is erased" onClose={() => onClose(true)}>
        <Text>
          {formatCount(result.events, 'event')} lost their identity, and{' '}
          {formatCount(result.sessions, 'session')} were deleted.
          {result.isRepeat &&
            ' This digest was erased before. This time, data that arrived since was erased.'}
        </Text>
        <Text size="sm">Keep the receipt number with the request of the person:</Text>
        <CopyBlock text={result.receipts.join('\n')} label="Copy the number" />
      </ResultDialog>
    )
  }
  return (
    <FormDialog
      title="Erase this person?"
      submitLabel="Erase"
      isFinal
      canSubmit={word === WORD}
      isPending={erase.isPending}
      error={erase.error}
      onSubmit={() => erase.mutate()}
      onClose={() => onClose(false)}
    >
      <List size="sm" spacing="xs">
        <List.Item>Stored events lose every identifier, address and click ID.</List.Item>
        <List.Item>Deliveries that wait are not sent.</List.Item>
        <List.Item>Later events of the person are stored without identity.</List.Item>
        <List.Item>What a platform has received stays there: ask the platform.</List.Item>
      </List>
      <TextInput
        label={`Type ${WORD} to confirm. This cannot be undone.`}
        value={word}
        autoComplete="off"
        spellCheck={false}
        data-autofocus
        onChange={event => setWord(event.currentTarget.value)}
      />
    </FormDialog>
  )
}
