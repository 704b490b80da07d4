// Our own rules: credentials whose issuers document their form, and what is written like a credential.

#include "runtime/redact/rules_file.hpp"

namespace ratchet {

std::string_view curated_rules() {
  return R"toml(
title = "ratchet"

[[rules]]
id = "anthropic-key"
regex = '''\bsk-ant-[A-Za-z0-9]{2,10}-[A-Za-z0-9_-]{16,}'''
keywords = ["sk-ant-"]

[[rules]]
id = "openai-key"
regex = '''\bsk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}'''
keywords = ["sk-proj-", "sk-svcacct-", "sk-admin-", "sk-none-"]

[[rules]]
id = "sk-key"
regex = '''\bsk-(?:or-v1-)?[A-Za-z0-9]{32,}'''
entropy = 3.0
keywords = ["sk-"]

[[rules]]
id = "aws-access-key-id"
regex = '''\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b'''
keywords = ["akia", "asia", "abia", "acca"]

[[rules]]
id = "aws-secret-access-key"
regex = '''(?i)secret_?access_?key["'\\]*\s*[:=]\s*["'\\]*([A-Za-z0-9/+]{40})'''
keywords = ["secret_access_key", "secretaccesskey"]

[[rules]]
id = "github-token"
regex = '''\bgh[oprsu]_[A-Za-z0-9]{36,255}'''
keywords = ["gho_", "ghp_", "ghr_", "ghs_", "ghu_"]

[[rules]]
id = "github-fine-grained-token"
regex = '''\bgithub_pat_[A-Za-z0-9_]{22,255}'''
keywords = ["github_pat_"]

[[rules]]
id = "gitlab-token"
regex = '''\bgl(?:pat|dt|rt|ptt|cbt|soat|ft|imt|agent|oas)-[A-Za-z0-9_.-]{20,}'''
keywords = ["glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glsoat-", "glft-", "glimt-", "glagent-", "gloas-"]

[[rules]]
id = "slack-token"
regex = '''\bxox[abeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,}'''
keywords = ["xoxa", "xoxb", "xoxe", "xoxo", "xoxp", "xoxr", "xoxs"]

[[rules]]
id = "slack-app-token"
regex = '''\bxapp-[0-9]-[A-Za-z0-9-]{10,}'''
keywords = ["xapp-"]

[[rules]]
id = "slack-webhook"
regex = '''hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/+_-]{20,})'''
keywords = ["hooks.slack.com"]

[[rules]]
id = "stripe-key"
regex = '''\b(?:sk|rk)_(?:live|test|prod)_[A-Za-z0-9]{10,}'''
keywords = ["sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_"]

[[rules]]
id = "webhook-secret"
regex = '''\bwhsec_[A-Za-z0-9+/=_-]{16,}'''
keywords = ["whsec_"]

[[rules]]
id = "google-api-key"
regex = '''\bAIza[A-Za-z0-9_-]{35}'''
keywords = ["aiza"]

[[rules]]
id = "google-oauth-token"
regex = '''\bya29\.[A-Za-z0-9_-]{20,}'''
keywords = ["ya29."]

[[rules]]
id = "google-oauth-secret"
regex = '''\bGOCSPX-[A-Za-z0-9_-]{20,}'''
keywords = ["gocspx-"]

[[rules]]
id = "json-web-token"
regex = '''\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*'''
keywords = ["eyj"]

[[rules]]
id = "private-key"
regex = '''(?s)-----BEGIN[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?-----|\z)'''
keywords = ["-----begin"]

[[rules]]
id = "age-secret-key"
regex = '''\bAGE-SECRET-KEY-1[0-9A-Z]{58}'''
keywords = ["age-secret-key-1"]

[[rules]]
id = "npm-token"
regex = '''\bnpm_[A-Za-z0-9]{36}'''
keywords = ["npm_"]

[[rules]]
id = "pypi-token"
regex = '''\bpypi-AgE[A-Za-z0-9_-]{40,}'''
keywords = ["pypi-age"]

[[rules]]
id = "rubygems-key"
regex = '''\brubygems_[a-f0-9]{48}'''
keywords = ["rubygems_"]

[[rules]]
id = "docker-token"
regex = '''\bdckr_(?:pat|oat)_[A-Za-z0-9_-]{24,}'''
keywords = ["dckr_"]

[[rules]]
id = "hugging-face-token"
regex = '''\b(?:hf|api_org)_[A-Za-z0-9]{30,}'''
keywords = ["hf_", "api_org_"]

[[rules]]
id = "replicate-token"
regex = '''\br8_[A-Za-z0-9]{37}'''
keywords = ["r8_"]

[[rules]]
id = "groq-key"
regex = '''\bgsk_[A-Za-z0-9]{40,}'''
keywords = ["gsk_"]

[[rules]]
id = "xai-key"
regex = '''\bxai-[A-Za-z0-9]{40,}'''
keywords = ["xai-"]

[[rules]]
id = "perplexity-key"
regex = '''\bpplx-[A-Za-z0-9]{40,}'''
keywords = ["pplx-"]

[[rules]]
id = "sendgrid-key"
regex = '''\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}'''
keywords = ["sg."]

[[rules]]
id = "digitalocean-token"
regex = '''\bdo[opr]_v1_[a-f0-9]{64}'''
keywords = ["doo_v1_", "dop_v1_", "dor_v1_"]

[[rules]]
id = "shopify-token"
regex = '''\bshp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}'''
keywords = ["shpat_", "shpca_", "shppa_", "shpss_"]

[[rules]]
id = "vault-token"
regex = '''\bhv[bsr]\.[A-Za-z0-9_-]{20,}'''
keywords = ["hvb.", "hvs.", "hvr."]

[[rules]]
id = "databricks-token"
regex = '''\bdapi[a-f0-9]{32}(?:-[0-9])?'''
keywords = ["dapi"]

[[rules]]
id = "linear-key"
regex = '''\blin_(?:api|oauth)_[A-Za-z0-9]{32,}'''
keywords = ["lin_api_", "lin_oauth_"]

[[rules]]
id = "notion-token"
regex = '''\b(?:ntn_|secret_)[A-Za-z0-9]{40,}'''
keywords = ["ntn_", "secret_"]

[[rules]]
id = "telegram-bot-token"
regex = '''\b[0-9]{8,10}:AA[A-Za-z0-9_-]{32,}'''
keywords = [":aa"]

[[rules]]
id = "discord-webhook"
regex = '''discord(?:app)?\.com/api/webhooks/[0-9]{16,}/([A-Za-z0-9_-]{40,})'''
keywords = ["/api/webhooks/"]

[[rules]]
id = "azure-storage-key"
regex = '''(?i)AccountKey\s*=\s*([A-Za-z0-9+/]{40,}={0,2})'''
keywords = ["accountkey"]

[[rules]]
id = "authorization-header"
regex = '''(?i)authorization["'\\]*\s*[:=]\s*["'\\]*(?:(?:basic|bearer|token|apikey|digest)\s+)?([^\s"'\\,;]{6,})'''
keywords = ["authorization"]

[[rules]]
id = "bearer-token"
regex = '''(?i)\bbearer\s+([A-Za-z0-9._~+/=-]{16,})'''
keywords = ["bearer"]

[[rules]]
id = "cookie-header"
regex = '''(?i)\b(?:set-)?cookie["'\\]*\s*:\s*["'\\]*([^\r\n"'\\]*=[^\r\n"'\\]*)'''
keywords = ["cookie"]

[[rules]]
id = "url-credentials"
regex = '''[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/?#:@"'\\]{0,200}:([^\s/?#@"'\\]{1,200})@'''
keywords = ["://"]

[[rules]]
id = "assigned-secret"
regex = '''(?i)(?:password|passwd|passphrase|secret|api[_ .-]?key|access[_-]?key|private[_-]?key|access[_-]?token|refresh[_-]?token|auth[_-]?token|id[_-]?token|session[_-]?token)["'\\]*\s{0,5}(?:=|:|=>|:=)\s{0,5}["'\\]*([^\s"'\\,;&<>(){}\[\]]{6,})'''
keywords = ["password", "passwd", "passphrase", "secret", "api_key", "apikey", "api-key", "api key", "api.key", "access_key", "accesskey", "access-key", "private_key", "privatekey", "private-key", "_token", "accesstoken", "refreshtoken", "authtoken", "idtoken", "sessiontoken", "-token"]
)toml";
}

}  // namespace ratchet
