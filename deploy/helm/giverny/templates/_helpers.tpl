{{/* name of the objects of a release, and of a role if there is one: (list $ "agent") */}}
{{- define "giverny.name" -}}
{{- $root := index . 0 -}}
{{- $base := ternary $root.Release.Name (printf "%s-giverny" $root.Release.Name) (contains "giverny" $root.Release.Name) | trunc 50 | trimSuffix "-" -}}
{{- if gt (len .) 1 }}{{ printf "%s-%s" $base (index . 1) }}{{ else }}{{ $base }}{{ end -}}
{{- end }}

{{- define "giverny.selector" -}}
app.kubernetes.io/name: giverny
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
{{- if gt (len .) 1 }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}
{{- end }}

{{- define "giverny.labels" -}}
{{ include "giverny.selector" . }}
app.kubernetes.io/managed-by: {{ (index . 0).Release.Service }}
helm.sh/chart: {{ printf "%s-%s" (index . 0).Chart.Name (index . 0).Chart.Version }}
{{- end }}

{{- define "giverny.metadata" -}}
name: {{ include "giverny.name" . }}
namespace: {{ (index . 0).Release.Namespace }}
labels:
  {{- include "giverny.labels" . | nindent 2 }}
{{- end }}

{{/* the configuration of a role, as YAML */}}
{{- define "giverny.config" -}}
{{- $root := index . 0 -}}
{{- $role := index . 1 -}}
{{- $config := mergeOverwrite (deepCopy $root.Values.config) (deepCopy (index $root.Values $role).config) -}}
{{- if not (dig "kafka" "brokers" list $config) }}{{ fail "config.kafka.brokers is empty: want the addresses of your Kafka brokers, such as [kafka-0.kafka:9092]" }}{{ end -}}
{{- if not (dig "store" "url" "" $config) }}{{ fail "config.store.url is empty: want the address of your ClickHouse, such as https://giverny@clickhouse:8443/giverny" }}{{ end -}}
{{- if not $config.fabrics }}{{ fail "config.fabrics is empty: want a name and a topology for each plane or rail" }}{{ end -}}
{{- toYaml $config }}
{{- end }}

{{/* what acts, "true" or "": (list $ "nodes") or (list $ "extender") */}}
{{- define "giverny.feedback" -}}
{{- $config := include "giverny.config" (list (index . 0) "analyze") | fromYaml -}}
{{- if dig "feedback" "kubernetes" (index . 1) "enabled" false $config }}true{{ end -}}
{{- end }}

{{/* the pod of a role, without what only that role has: (dict "root" $ "role" "agent" "command" "collect") */}}
{{- define "giverny.pod" -}}
{{- $values := index .root.Values .role -}}
{{- $metadata := list .root .role -}}
metadata:
  labels:
    {{- include "giverny.labels" $metadata | nindent 4 }}
  annotations:
    checksum/config: {{ include "giverny.config" $metadata | sha256sum }}
spec:
  serviceAccountName: {{ include "giverny.name" $metadata }}
  automountServiceAccountToken: {{ .token | default false }}
  enableServiceLinks: false
  terminationGracePeriodSeconds: 90
  {{- with .root.Values.imagePullSecrets }}
  imagePullSecrets: {{ toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: {type: RuntimeDefault}
  containers:
    - name: giverny
      image: {{ printf "%s:%s" .root.Values.image.repository (.root.Values.image.tag | default .root.Chart.AppVersion) | quote }}
      imagePullPolicy: {{ .root.Values.image.pullPolicy }}
      args: [{{ .command }}, --config, /etc/giverny/config/giverny.yaml]
      env:
        - {name: GIVERNY_DATA_DIR, value: /var/lib/giverny}
        {{- with .agent }}
        - name: GIVERNY_COLLECT_AGENT
          {{- toYaml . | nindent 10 }}
        {{- end }}
        {{- with $values.env }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      ports:
        {{- if .web }}
        - {name: http, containerPort: 9401}
        {{- end }}
        - {name: metrics, containerPort: 9402}
      livenessProbe:
        httpGet: {path: /-/healthy, port: metrics}
        initialDelaySeconds: 5
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet: {path: /-/ready, port: metrics}
        timeoutSeconds: 5
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: {drop: [ALL]}
      resources: {{ toYaml $values.resources | nindent 8 }}
      volumeMounts:
        - {name: config, mountPath: /etc/giverny/config, readOnly: true}
        {{- if .topology }}
        - {name: topology, mountPath: /etc/giverny/topology, readOnly: true}
        {{- end }}
        {{- if $values.secret }}
        - {name: secret, mountPath: /etc/giverny/secrets, readOnly: true}
        {{- end }}
        - {name: data, mountPath: /var/lib/giverny}
        - {name: tmp, mountPath: /tmp}
        {{- with $values.volumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - name: config
      configMap: {name: {{ include "giverny.name" $metadata }}, defaultMode: 0440}
    {{- if .topology }}
    - name: topology
      {{- if .root.Values.topology.volume }}
      {{- toYaml .root.Values.topology.volume | nindent 6 }}
      {{- else }}
      configMap: {name: {{ include "giverny.name" (list .root "topology") }}}
      {{- end }}
    {{- end }}
    {{- with $values.secret }}
    - name: secret
      secret: {secretName: {{ . | quote }}, defaultMode: 0440}
    {{- end }}
    {{- with .data }}
    - name: data
      {{- toYaml . | nindent 6 }}
    {{- end }}
    - {name: tmp, emptyDir: {}}
    {{- with $values.volumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with $values.nodeSelector }}
  nodeSelector: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.tolerations }}
  tolerations: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.affinity }}
  affinity: {{ toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
