// Package bound takes methods of generic interfaces in such a way that the linker knows
// which methods they are.
//
// A method of a type is in a program if an interface that has it is called somewhere.
// Where that interface is generic, in generic code, the linker is told the method's name
// and no more, and keeps what every type in the program has under that name. Under Get
// and Add that is 80 KB which nobody calls, most of it of json-iterator. A method of a type
// parameter, however, comes out of a dictionary, where each type is the one it is.
package bound

// Get returns v.Get.
func Get[T any, V interface {
	Get(key string) (T, bool)
}](v V) func(key string) (T, bool) {
	return v.Get
}

// Changes returns v.Add, v.Update and v.Delete.
func Changes[T any, V interface {
	Add(obj T) error
	Update(obj T) error
	Delete(obj T) error
}](v V) (add, update, remove func(obj T) error) {
	return v.Add, v.Update, v.Delete
}
