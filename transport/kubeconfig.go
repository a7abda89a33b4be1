package transport

import (
	"bytes"
	"cmp"
	"encoding/base64"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"sigs.k8s.io/yaml"
	goyaml "sigs.k8s.io/yaml/goyaml.v2"

	"github.com/relist-go/relist/internal/files"
)

// KubeconfigOptions says which file, and which of its contexts.
type KubeconfigOptions struct {
	// Path of the file. If empty, the files of the list in the KUBECONFIG environment
	// variable, merged: what an earlier file has under a name, and its
	// current-context, wins over a later one, and a file that does not exist is
	// skipped. If that is empty too, ~/.kube/config.
	Path string

	// Context is the name of a context. If empty, the current-context.
	Context string

	// Server is the URL of an API server that wants no credentials, such as the one of "kubectl
	// proxy" or of apitest. If it is set, no file is read, and Path and Context must be empty.
	Server string
}

// LoadKubeconfig returns the Config of one context of a kubeconfig. Relative paths in a
// file are relative to its folder. If a user has both a program (exec) and another
// credential, the program is not run, as kubectl does not run it. An auth-provider is
// an error; it is not ignored. The format, and how files are merged:
// https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/
// https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/
func LoadKubeconfig(opts KubeconfigOptions) (Config, error) {
	switch {
	case opts.Server == "":
	case opts.Path != "" || opts.Context != "":
		return Config{}, errors.New("kubeconfig: a server was named, and a path or a context too: name one of them")
	default:
		return Config{Server: opts.Server}, nil
	}
	paths, named, err := kubeconfigPaths(opts.Path)
	if err != nil {
		return Config{}, fmt.Errorf("kubeconfig: %w", err)
	}
	var merged kubeconfig
	var read []string
	for _, path := range paths {
		file, err := readKubeconfig(path)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !named:
			continue
		case errors.Is(err, fs.ErrNotExist):
			return Config{}, fmt.Errorf("kubeconfig: %w", err)
		case err != nil:
			return Config{}, fmt.Errorf("kubeconfig %s: %w", path, err)
		}
		merged.add(file)
		read = append(read, path)
	}
	if len(read) == 0 {
		return Config{}, fmt.Errorf("kubeconfig: no file of KUBECONFIG=%s exists: %w", os.Getenv("KUBECONFIG"), fs.ErrNotExist)
	}
	cfg, err := merged.config(opts.Context)
	if err != nil {
		return Config{}, fmt.Errorf("kubeconfig %s: %w", joinPaths(read), err)
	}
	return cfg, nil
}

// kubeconfigPaths returns the files to merge; the first wins. If named is true, there
// is one file, and it has to exist. The files of the list in KUBECONFIG need not exist.
func kubeconfigPaths(path string) (paths []string, named bool, err error) {
	if path != "" {
		return []string{path}, true, nil
	}
	if list := os.Getenv("KUBECONFIG"); list != "" {
		for _, p := range filepath.SplitList(list) {
			if p != "" && !slices.Contains(paths, p) {
				paths = append(paths, p)
			}
		}
		return paths, false, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, false, fmt.Errorf("no path is given, KUBECONFIG is empty, and %w", err)
	}
	return []string{filepath.Join(home, ".kube", "config")}, true, nil
}

func readKubeconfig(path string) (kubeconfig, error) {
	data, err := files.Read(path)
	if err != nil {
		return kubeconfig{}, err
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return kubeconfig{}, err
	}
	return decodeKubeconfig(data, dir)
}

// joinPaths is for messages.
func joinPaths(paths []string) string {
	text := paths[0]
	for _, p := range paths[1:] {
		text += string(filepath.ListSeparator) + p
	}
	return text
}

// kubeconfig is what is used of one file, or of several merged, and what must not be
// ignored.
type kubeconfig struct {
	APIVersion     string            `json:"apiVersion"`
	Kind           string            `json:"kind"`
	CurrentContext string            `json:"current-context"`
	Contexts       []kubeconfigEntry `json:"contexts"`
	Clusters       []kubeconfigEntry `json:"clusters"`
	Users          []kubeconfigEntry `json:"users"`
}

// kubeconfigEntry is an entry of any of the three lists; one field is set.
type kubeconfigEntry struct {
	Name    string            `json:"name"`
	Context kubeconfigContext `json:"context"`
	Cluster kubeconfigCluster `json:"cluster"`
	User    kubeconfigUser    `json:"user"`
}

type kubeconfigContext struct {
	Cluster   string `json:"cluster"`
	User      string `json:"user"`
	Namespace string `json:"namespace"`
}

type kubeconfigCluster struct {
	Server        string                `json:"server"`
	CAFile        string                `json:"certificate-authority"`
	CAData        pemData               `json:"certificate-authority-data"`
	Insecure      bool                  `json:"insecure-skip-tls-verify"`
	TLSServerName string                `json:"tls-server-name"`
	ProxyURL      string                `json:"proxy-url"`
	Uncompressed  bool                  `json:"disable-compression"`
	Extensions    []kubeconfigExtension `json:"extensions"`
}

type kubeconfigExtension struct {
	Name      string         `json:"name"`
	Extension jsontext.Value `json:"extension"`
}

type kubeconfigUser struct {
	CertFile     string              `json:"client-certificate"`
	CertData     pemData             `json:"client-certificate-data"`
	KeyFile      string              `json:"client-key"`
	KeyData      pemData             `json:"client-key-data"`
	Token        string              `json:"token"`
	TokenFile    string              `json:"tokenFile"`
	Username     string              `json:"username"`
	Password     string              `json:"password"`
	Exec         *kubeconfigExec     `json:"exec"`
	AuthProvider *authProvider       `json:"auth-provider"`
	As           string              `json:"as"`
	AsUID        string              `json:"as-uid"`
	AsGroups     []string            `json:"as-groups"`
	AsExtra      map[string][]string `json:"as-user-extra"`
}

// decodeKubeconfig reads a file's bytes; dir is what its relative paths start from.
func decodeKubeconfig(data []byte, dir string) (kubeconfig, error) {
	var file kubeconfig
	if err := unmarshalYAML(data, &file); err != nil {
		return file, err
	}
	if file.Kind != "" && file.Kind != "Config" || file.APIVersion != "" && file.APIVersion != "v1" {
		return file, fmt.Errorf("the file is a %q of %q: a kubeconfig is a Config of v1", file.Kind, file.APIVersion)
	}
	for _, list := range []struct {
		name    string
		entries []kubeconfigEntry
	}{{"contexts", file.Contexts}, {"clusters", file.Clusters}, {"users", file.Users}} {
		seen := make(map[string]bool)
		for _, e := range list.entries {
			if seen[e.Name] {
				return file, fmt.Errorf("%s has two entries %q", list.name, e.Name)
			}
			seen[e.Name] = true
		}
	}
	under := func(path *string) {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(dir, *path)
		}
	}
	for i := range file.Clusters {
		under(&file.Clusters[i].Cluster.CAFile)
	}
	for i := range file.Users {
		user := &file.Users[i].User
		under(&user.CertFile)
		under(&user.KeyFile)
		under(&user.TokenFile)
		// A name without a separator is looked for in PATH.
		if e := user.Exec; e != nil && strings.ContainsRune(e.Command, filepath.Separator) {
			under(&e.Command)
		}
	}
	return file, nil
}

// add adds a file that comes later in the list. If the name of an entry is there
// already, the later entry is not used, not even for fields that the earlier one lacks.
func (k *kubeconfig) add(later kubeconfig) {
	k.CurrentContext = cmp.Or(k.CurrentContext, later.CurrentContext)
	k.Contexts = addEntries(k.Contexts, later.Contexts)
	k.Clusters = addEntries(k.Clusters, later.Clusters)
	k.Users = addEntries(k.Users, later.Users)
}

func addEntries(to, later []kubeconfigEntry) []kubeconfigEntry {
	for _, e := range later {
		if _, ok := find(to, e.Name); !ok {
			to = append(to, e)
		}
	}
	return to
}

func find(entries []kubeconfigEntry, name string) (kubeconfigEntry, bool) {
	i := slices.IndexFunc(entries, func(e kubeconfigEntry) bool { return e.Name == name })
	if i < 0 {
		return kubeconfigEntry{}, false
	}
	return entries[i], true
}

// known lists names in alphabetical order, for an error.
func known(what string, entries []kubeconfigEntry) string {
	if len(entries) == 0 {
		return "the file has no " + what
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name
	}
	slices.Sort(names)
	return "known " + what + ": " + strings.Join(names, ", ")
}

// unmarshalYAML reads YAML as kubectl does: the case of a field's name counts, unknown
// fields are passed over, and a number or a boolean is no text. Its errors quote
// nothing of the file, which holds tokens, passwords and keys.
func unmarshalYAML(data []byte, into any) error {
	text, err := yaml.YAMLToJSON(data)
	if err != nil {
		return syntaxWithoutValues(data, err)
	}
	err = json.Unmarshal(text, into, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	if err == nil {
		return nil
	}
	var wrong *json.SemanticError
	if !errors.As(err, &wrong) {
		return errors.New("yaml: it cannot be read as JSON") // unreachable: it was JSON
	}
	field, line := fieldName(wrong.JSONPointer), lineOf(data, wrong.JSONPointer)
	if noBase64, ok := errors.AsType[base64.CorruptInputError](err); ok {
		return fmt.Errorf("yaml: %s%s: %w", line, field, noBase64)
	}
	kind := kindName(wrong.JSONKind)
	hint := ""
	if wrong.GoType != nil && wrong.GoType.Kind() == reflect.String && (kind == "number" || kind == "bool") {
		hint = ": put it in quotes"
	}
	return &redactedError{
		text: fmt.Sprintf("yaml: %s%s is of the wrong type (%s)%s", line, field, kind, hint),
		err:  &stdjson.UnmarshalTypeError{Value: kind, Field: strings.TrimPrefix(field, wholeFile), Type: wrong.GoType},
	}
}

// yamlNode reads a part of a YAML file.
type yamlNode func(into any) error

// UnmarshalYAML lets the parser say how.
func (n *yamlNode) UnmarshalYAML(read func(into any) error) error {
	*n = read
	return nil
}

var yamlLine = regexp.MustCompile(`line \d+: `)

// lineOf returns "line 4: ", where the value of a field begins, or "" if that is not known. It
// reads the value into what can hold none, because only an error of the parser has a line.
func lineOf(data []byte, pointer jsontext.Pointer) string {
	var node yamlNode
	err := goyaml.Unmarshal(data, &node) // go.yaml.in/yaml/v2 by itself is one more requirement
	for token := range pointer.Tokens() {
		if err != nil || node == nil {
			return ""
		}
		var items []yamlNode
		members := map[string]yamlNode{}
		if node(&items) != nil {
			err = node(&members)
		} else if i, _ := strconv.Atoi(token); i < len(items) { // a number, because this is an array
			members[token] = items[i]
		}
		node = members[token]
	}
	if node == nil {
		return ""
	}
	err = node(new(chan int))
	return yamlLine.FindString(fmt.Sprint(err))
}

// wholeFile is what fieldName calls the root.
const wholeFile = "the file"

// fieldName writes /users/0/user/token as users[0].user.token.
func fieldName(pointer jsontext.Pointer) string {
	var b strings.Builder
	for token := range pointer.Tokens() {
		if _, err := strconv.Atoi(token); err == nil {
			b.WriteString("[" + token + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(token)
	}
	if b.Len() == 0 {
		return wholeFile
	}
	return b.String()
}

func kindName(kind jsontext.Kind) string {
	switch byte(kind) {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case '0':
		return "number"
	case 't', 'f':
		return "bool"
	}
	return kind.String()
}

// pemData is base64, which may have line breaks in it.
type pemData []byte

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *pemData) UnmarshalText(text []byte) error {
	data, err := base64.StdEncoding.DecodeString(string(text)) // passes over line breaks
	*d = data
	return err
}

// parserText matches what the YAML parser says of syntax, in words of its own. What it
// says of anchors, tags and keys is not let through, because it quotes them: to the
// parser, a token that begins with an asterisk is an alias.
var parserText = regexp.MustCompile(`yaml: (line \d+: )?(did not find|could not find|found|mapping values|block|control characters) .*$`)

func syntaxWithoutValues(data []byte, err error) error {
	if text := parserText.FindString(err.Error()); text != "" {
		return errors.New(text)
	}
	// The parser gives no line. The file has the same error if it ends behind this line, and
	// another one or none if it ends before.
	lines := bytes.SplitAfter(data, []byte("\n"))
	before := sort.Search(len(lines)-1, func(i int) bool {
		_, same := yaml.YAMLToJSON(bytes.Join(lines[:i+1], nil))
		return same != nil && same.Error() == err.Error()
	})
	return fmt.Errorf("yaml: line %d: an alias (*), a tag (!) or a key that is not valid: put values with such characters in quotes", before+1)
}
