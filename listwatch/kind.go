package listwatch

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// partialKind is the kind that a server sends if the request asked for metadata
// alone.
const partialKind = "PartialObjectMetadata"

// expected holds the kind that the objects of one page or one stream should have. A
// Secret decodes into a ConfigMap without an error, so only the kind shows that a
// proxy or a server has mixed up two streams. The zero value takes the kind of the
// first object that names one.
type expected struct {
	kind    string // "": not known yet
	partial bool   // metadata alone is asked for, and whole objects are taken

	// guessed is true if no object has named the kind: it is the name of a list without List. The
	// author of a custom resource may call a list of Orders a ShopList. So two objects of one other
	// kind disprove the guess, if none has confirmed it before.
	guessed bool
	rival   string // the kind of the last object that was refused because of a guess
}

// learnList guesses the kind of the items from the kind of a list, if the list's kind
// comes before its items and no object has named theirs.
func (e *expected) learnList(kind string) error {
	item, ok := strings.CutSuffix(kind, "List")
	switch {
	case !ok || item == "":
		return nil // a List of anything
	case item == partialKind && !e.partial:
		return fmt.Errorf("%w: a %s instead of a list of whole objects", errMalformed, kind)
	case e.kind != "" && !e.guessed:
		return nil
	}
	e.kind, e.guessed = item, true
	return nil
}

// check returns an error if an object's kind is not the expected one. It accepts an
// object without a kind, because items of lists have none.
func (e *expected) check(kind []byte) error {
	switch {
	case len(kind) == 0, string(kind) == e.kind:
		return nil
	case e.partial && (string(kind) == partialKind || e.kind == partialKind):
		return nil
	case string(kind) == partialKind:
		return errors.New("it is a " + partialKind + ", but whole objects were asked for")
	case e.kind == "", e.guessed && string(kind) == e.rival:
		return nil
	}
	return fmt.Errorf("it is %s, but the objects of this resource are %s", word(kind), word([]byte(e.kind)))
}

// suspect is check, and also notes a kind that is not the expected one. If that was guessed, the
// next object of the noted kind is right.
func (e *expected) suspect(kind []byte) error {
	err := e.check(kind)
	if err != nil {
		e.rival = string(kind)
	}
	return err
}

// learn notes the kind of an object that check has accepted and that could be decoded. It reports
// whether that is news.
func (e *expected) learn(kind []byte) bool {
	if len(kind) == 0 || string(kind) == partialKind || e.kind == partialKind || string(kind) == e.kind && !e.guessed {
		return false
	}
	*e = expected{kind: string(kind), partial: e.partial}
	return true
}

// keep puts the kind that a list has told where watches look for it. A list that selects objects,
// such as one by its name, is often empty, and then the guess from its own kind is no news.
func (e expected) keep(in *atomic.Pointer[expected], selects bool) {
	if !selects || e.kind != "" && !e.guessed {
		in.Store(&e)
	}
}

// word returns kind for an error's text. The bytes are the server's, so word quotes
// them only if they look like a kind.
func word(kind []byte) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	if len(kind) > 63 || len(bytes.Trim(kind, letters)) > 0 {
		return "of another kind"
	}
	return "of kind " + string(kind)
}

// kinded is implemented by pointers to structs that embed metav1.TypeMeta.
type kinded interface {
	GetObjectKind() schema.ObjectKind
}

// clearKind removes the kind from an object of a watch, so that it equals the same
// object of a list.
func clearKind[T any](obj *T) {
	k, ok := any(*obj).(kinded)
	if !ok {
		k, ok = any(obj).(kinded) // T is a struct
	}
	if ok {
		k.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
}

// setMissingKind gives a list's item the kind that it lacks on the wire.
func setMissingKind[T any](obj T, kind schema.GroupVersionKind) {
	if k, ok := any(obj).(kinded); ok && k.GetObjectKind().GroupVersionKind().Empty() {
		k.GetObjectKind().SetGroupVersionKind(kind)
	}
}

// itemKind derives the kind of a list's items: ConfigMap from ConfigMapList. If the list has not
// told its kind yet, itemKind takes the one that other items or an earlier page have told.
func itemKind(list metav1.TypeMeta, told string) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(list.APIVersion, cmp.Or(strings.TrimSuffix(list.Kind, "List"), told))
}
