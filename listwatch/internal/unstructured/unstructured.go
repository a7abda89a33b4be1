// Package unstructured recognises apimachinery's type for objects of any kind, without naming it.
package unstructured

import "reflect"

// Is reports whether typ is *unstructured.Unstructured. It compares the name, because naming the
// type itself would add 40 KB to every program, and most programs do not use it.
func Is(typ reflect.Type) bool {
	return typ.String() == "*unstructured.Unstructured" && typ.Elem().PkgPath() == "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
}
