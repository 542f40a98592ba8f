import { Tabs } from '@mantine/core'
import { useState } from 'react'
import type { CodeSnippet } from './code-snippets.ts'
import { CopyBlock } from './copy.tsx'

/** The same request in several languages. */
export function CodeTabs({ snippets }: { snippets: readonly CodeSnippet[] }) {
  const [chosen, choose] = useState<string | null>(null)
  // Text that is not JSON has no program: fall back to the first language.
  const [first] = snippets
  const shown = snippets.some(({ language }) => language === chosen) ? chosen : first?.language
  return (
    <Tabs value={shown ?? null} onChange={choose} mt="xs">
      <Tabs.List aria-label="Language" mb="xs">
        {snippets.map(({ language }) => (
          <Tabs.Tab key={language} value={language}>
            {language}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {snippets.map(({ language, code }) => (
        <Tabs.Panel key={language} value={language}>
          <CopyBlock text={code} label="Copy the code" />
        </Tabs.Panel>
      ))}
    </Tabs>
  )
}
