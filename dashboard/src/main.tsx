import '@mantine/core/styles.css'
import '@signalbox/design/tokens.css'
import './styles.css'
import { localStorageColorSchemeManager, MantineProvider } from '@mantine/core'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { queryClient } from './api/queries.ts'
import { router } from './router.tsx'
import { cssVariablesResolver, STYLE_NONCE, theme } from './theme.ts'

// Read by get-nonce, with which Mantine's dialogs add a style element.
Object.assign(globalThis, { __webpack_nonce__: STYLE_NONCE })

// Mantine fills its style elements as markup. The policy lets no element through, and no script.
interface TrustedTypes {
  createPolicy(name: string, rules: { createHTML(text: string): string | null }): unknown
}
const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes }
trustedTypes?.createPolicy('default', {
  createHTML: text => (text.includes('<') ? null : text),
})

const colorSchemeManager = localStorageColorSchemeManager({ key: 'signalbox-color-scheme' })

const root = document.getElementById('root')
if (!root) throw new Error('index.html has no #root')
createRoot(root).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      cssVariablesResolver={cssVariablesResolver}
      defaultColorScheme="auto"
      colorSchemeManager={colorSchemeManager}
      getStyleNonce={() => STYLE_NONCE}
    >
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
)
