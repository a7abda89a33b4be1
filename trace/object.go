package trace

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// parseObject reads "[[namespace]/]name@version [uid=X] [json]".
func parseObject(text string) (jsonObject, error) {
	w, err := parseWords(text, "uid")
	if err != nil {
		return nil, err
	}
	return w.object()
}

// object makes the object that the words of a line describe. It has no kind and
// apiVersion, like an item of a list.
func (w *words) object() (jsonObject, error) {
	if err := w.count(1, "one object, as in default/a@101"); err != nil {
		return nil, err
	}
	key, version, ok := strings.Cut(w.plain[0], "@")
	if !ok {
		return nil, fmt.Errorf("%s: an object needs a version, as in a@101", w.plain[0])
	}
	namespace, name, ok := strings.Cut(key, "/")
	if !ok {
		namespace, name = "default", key
	}
	if name == "" {
		return nil, fmt.Errorf("%s: an object needs a name, as in a@101, default/a@101, or /a@101 without a namespace", w.plain[0])
	}
	uid, ok := w.options["uid"]
	if !ok {
		uid = "uid-" + name
	}
	meta := jsonObject{"name": value(name), "uid": value(uid)}
	if namespace != "" {
		meta["namespace"] = value(namespace)
	}
	if version != "" {
		meta["resourceVersion"] = value(version)
	}
	obj := jsonObject{"metadata": value(meta)}
	return obj, obj.merge(w.json)
}

// withKind returns obj with kind and apiVersion, as in a watch. If the author has
// written them, they stay.
func (o jsonObject) withKind(of resource) jsonObject {
	full := jsonObject{"kind": value(of.kind), "apiVersion": value(of.apiVersion)}
	for key, member := range o { // in any order: it is a copy
		full[key] = member
	}
	return full
}

func listOf(of resource, version, token string, items []jsonObject, patch jsontext.Value) (jsonObject, error) {
	meta := jsonObject{"resourceVersion": value(version)}
	if token != "" {
		meta["continue"] = value(token)
	}
	values := make([]jsontext.Value, len(items))
	for i, item := range items {
		values[i] = value(item)
	}
	body := jsonObject{
		"kind":       value(of.kind + "List"),
		"apiVersion": value(of.apiVersion),
		"metadata":   value(meta),
		"items":      value(values),
	}
	return body, body.merge(patch)
}

// bookmarkOf makes the object of a bookmark, with a kind, and with a version unless
// it is empty.
func bookmarkOf(of resource, version string, patch jsontext.Value) (jsonObject, error) {
	meta := jsonObject{}
	if version != "" {
		meta["resourceVersion"] = value(version)
	}
	obj := jsonObject{"kind": value(of.kind), "apiVersion": value(of.apiVersion), "metadata": value(meta)}
	return obj, obj.merge(patch)
}

// statusOf makes a Status. The reason "-" stands for no reason.
func statusOf(code int, reason, message string, patch jsontext.Value) (jsonObject, error) {
	status := jsonObject{
		"kind":       value("Status"),
		"apiVersion": value("v1"),
		"metadata":   value(jsonObject{}),
		"status":     value("Failure"),
		"message":    value(message),
		"code":       value(code),
	}
	if reason != "-" {
		status["reason"] = value(reason)
	}
	return status, status.merge(patch)
}
