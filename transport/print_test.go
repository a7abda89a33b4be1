package transport

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
)

// fill sets every text in a struct to a canary that has the name of its field.
func fill(v reflect.Value, name string) {
	switch v.Kind() { //nolint:exhaustive // the others hold no text
	case reflect.String:
		v.SetString("canary-" + name)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte("canary-" + name))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), name)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), name+"."+v.Type().Field(i).Name)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), name)
	}
}

// TestPrintedConfigHidesSecrets prints a Config in which every text is set, in every way
// that comes to mind. Only texts that are known to be no secret may be seen: a field that
// is added later is hidden until somebody says otherwise.
func TestPrintedConfigHidesSecrets(t *testing.T) {
	var cfg Config
	fill(reflect.ValueOf(&cfg).Elem(), "")
	cfg.ProxyURL = "http://canary-name:canary-password@proxy.example:3128/?canary-query"
	cfg.Server = "https://canary-name:canary-password@api.example/path?canary-query#canary-fragment"
	cfg.Exec.Env = []string{"CANARY=canary-env"}

	public := map[string]bool{}
	for _, field := range []string{
		".BearerTokenFile", ".Username", ".Impersonate.User", ".Impersonate.UID", ".Impersonate.Groups", ".Namespace", ".UserAgent",
		".TLS.CAFile", ".TLS.CertFile", ".TLS.KeyFile", ".TLS.ServerName", ".Exec.Command", ".Exec.APIVersion", ".Exec.InstallHint",
	} {
		public["canary-"+field] = true
	}
	inside := func(text string) (found []string) {
		for _, word := range strings.FieldsFunc(text, func(r rune) bool {
			return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-.", r)
		}) {
			if strings.Contains(strings.ToLower(word), "canary") {
				found = append(found, word)
			}
		}
		return found
	}
	texts := map[string]string{}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%t", "%10v"} {
		for what, value := range map[string]any{
			"Config": cfg, "*Config": &cfg, "TLSConfig": cfg.TLS, "*TLSConfig": &cfg.TLS, "ExecConfig": *cfg.Exec, "*ExecConfig": cfg.Exec,
			"in a struct": struct{ C Config }{cfg}, "in a slice": []Config{cfg}, "in a map": map[string]*ExecConfig{"a": cfg.Exec},
		} {
			texts[verb+" "+what] = fmt.Sprintf(verb, value)
		}
	}
	for what, value := range map[string]any{"Config": cfg, "*Config": &cfg, "TLSConfig": cfg.TLS, "ExecConfig": cfg.Exec} {
		var text, js bytes.Buffer
		slog.New(slog.NewTextHandler(&text, nil)).Info("x", "config", value)
		slog.New(slog.NewJSONHandler(&js, nil)).Info("x", "config", value)
		texts["slog text "+what], texts["slog JSON "+what] = text.String(), js.String()
		marshalled, err := json.Marshal(value)
		if err != nil || !json.Valid(marshalled) {
			t.Errorf("JSON of %s: %s, %v", what, marshalled, err)
		}
		texts["JSON "+what] = string(marshalled)
	}
	for how, text := range texts {
		found := inside(text)
		for _, word := range found {
			if !public[word] {
				t.Errorf("%s shows %s in %s", how, word, text)
			}
		}
		if len(found) == 0 {
			t.Errorf("%s shows nothing: %s", how, text)
		}
	}
	for _, want := range []string{
		`"Server":"https://REDACTED@api.example/path?REDACTED#REDACTED"`, `"BearerToken":"REDACTED"`, `"TLS":{"CAData":"`, `"KeyData":"REDACTED"`, `"Env":"REDACTED"`,
	} {
		if !strings.Contains(fmt.Sprint(cfg), want) {
			t.Errorf("%s is not in %s", want, cfg)
		}
	}
	for _, watches := range []WatchTransport{WatchHTTP, WatchWebSocket} {
		odd := Config{Server: "https://api.example", Protocol: ProtocolHTTP1, UserAgent: "\xff", WatchTransport: watches}
		want := "{\"Protocol\":\"HTTP/1.1\",\"Server\":\"https://api.example\",\"UserAgent\":\"\ufffd\",\"WatchTransport\":\"" + watches.String() + "\"}"
		if got := fmt.Sprint(odd); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
