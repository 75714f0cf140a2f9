namespace Todos;

public record Todo(int Id, string Title);

static class Store
{
    public static Todo[] All()
    {
        var todos = new Todo[3];
        for (int i = 0; i < todos.Length; i++) todos[i] = new Todo(i + 1, Title(i));
        return todos;
    }

    public static Todo? Find(int id)
    {
        foreach (Todo todo in All())
        {
            if (todo.Id == id) return todo;
        }
        return null;
    }

    static string Title(int number)
    {
        string[] titles = ["walk", "eat", "sleep"];
        return titles[number];
    }
}
