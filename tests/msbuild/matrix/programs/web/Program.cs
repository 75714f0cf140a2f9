using System.Text.Json.Serialization;
using Todos;

var builder = WebApplication.CreateSlimBuilder(args);
builder.Logging.ClearProviders();
builder.WebHost.UseUrls("http://127.0.0.1:0");
builder.Services.ConfigureHttpJsonOptions(options => options.SerializerOptions.TypeInfoResolverChain.Insert(0, Json.Default));
var app = builder.Build();

var todos = app.MapGroup("/todos");
todos.MapGet("/", Store.All);
todos.MapGet("/{id}", (int id) => Store.Find(id) is Todo todo ? Results.Ok(todo) : Results.NotFound());

await app.StartAsync();
using var client = new HttpClient { BaseAddress = new Uri(app.Urls.Single()) };
Console.WriteLine(await client.GetStringAsync("/todos"));
for (int id = 1; id <= 4; id++)
{
    using var answer = await client.GetAsync($"/todos/{id}");
    Console.WriteLine($"{(int)answer.StatusCode} {await answer.Content.ReadAsStringAsync()}");
}
await app.StopAsync();

[JsonSerializable(typeof(Todo[]))]
partial class Json : JsonSerializerContext;
