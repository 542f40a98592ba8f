{{/* The parts that all workloads have in common. Each takes the release with the name of the part. */}}

{{- define "signalbox.name" -}}
{{- if contains "signalbox" .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-signalbox" (.Release.Name | trunc 30 | trimSuffix "-") -}}
{{- end -}}
{{- end -}}

{{- define "signalbox.labels" -}}
app.kubernetes.io/name: signalbox
{{- if ne .Release.Name "signalbox" }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "signalbox.settings" -}}
{{- range $name, $value := .Values.settings }}
{{ $name }}: {{ $value | quote }}
{{- end }}
DATABASE_URL_FILE: /run/secrets/signalbox/database-url
SIGNALBOX_CREDENTIAL_KEY_FILE: /run/secrets/signalbox/credential-key
SIGNALBOX_CONTRACT_KEY_FILE: /run/secrets/signalbox/contract-key
{{- end -}}

{{- define "signalbox.podSecurity" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  seccompProfile:
    type: RuntimeDefault
{{- end -}}

{{- define "signalbox.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{- define "signalbox.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
volumeMounts:
  - name: secrets
    mountPath: /run/secrets/signalbox
    readOnly: true
  - name: data
    mountPath: /var/lib/signalbox
  - name: tmp
    mountPath: /tmp
{{- end -}}

{{- define "signalbox.volumes" -}}
volumes:
  - name: secrets
    secret:
      secretName: {{ .Values.secretName }}
      defaultMode: 0440
  - name: data
    emptyDir: {}
  - name: tmp
    emptyDir: {}
{{- end -}}

{{- define "signalbox.placement" -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "signalbox.labels" . | nindent 8 }}
{{- with .workload.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .workload.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "signalbox.liveness" -}}
startupProbe:
  httpGet:
    path: /livez
    port: {{ . }}
  periodSeconds: 2
  failureThreshold: 60
livenessProbe:
  httpGet:
    path: /livez
    port: {{ . }}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
{{- end -}}

{{/* A budget that lets a node be drained; none for a single pod, which it would keep there. */}}
{{- define "signalbox.budget" -}}
{{- if gt (int .workload.replicas) 1 }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "signalbox.name" . }}-{{ .component }}
spec:
  minAvailable: {{ sub .workload.replicas 1 }}
  # A pod that is not ready anyway must not keep a node from being drained.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "signalbox.labels" . | nindent 6 }}
{{- end }}
{{- end -}}
