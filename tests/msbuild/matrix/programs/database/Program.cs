using Blog;
using Microsoft.Data.Sqlite;
using Microsoft.EntityFrameworkCore;

using var connection = new SqliteConnection("Data Source=:memory:");
connection.Open();

var builder = WebApplication.CreateBuilder(args);
builder.Logging.ClearProviders();
builder.WebHost.UseUrls("http://127.0.0.1:0");
builder.Services.AddDbContext<Posts>(options => options.UseSqlite(connection));
var app = builder.Build();
app.MapPost("/posts/{title}", Pages.Add);
app.MapGet("/posts", Pages.Titles);

await app.StartAsync();
using (var scope = app.Services.CreateScope()) scope.ServiceProvider.GetRequiredService<Posts>().Database.EnsureCreated();
using var client = new HttpClient { BaseAddress = new Uri(app.Urls.Single()) };
foreach (string title in new[] { "one", "two", "three" })
{
    using var answer = await client.PostAsync($"/posts/{title}", null);
    Console.WriteLine(await answer.Content.ReadAsStringAsync());
}
Console.WriteLine(await client.GetStringAsync("/posts"));
await app.StopAsync();
